package serve

import (
	"encoding/json"
	"fmt"
	"strings"
)

// resent is the remark on a message that is shown a second time.
const resent = "(Sent again: the first attempt may have gone through.)"

// said is one message in public as people see it.
type said struct {
	number, text string // number counts messages and, after a dot, replies
	marked       bool
}

// public is what everybody sees in a channel, without numbers that depend on what only some see, and without how often
// something was edited.
func (w *world) public(channel string) []said {
	var list []said
	var skip bool
	blank := true
	for _, line := range strings.Split(w.normal(w.slack.Transcript(channel)), "\n") {
		head := strings.TrimPrefix(line, "    ")
		number, rest, ok := strings.Cut(strings.TrimPrefix(head, "["), "] ")
		if blank && ok && strings.HasPrefix(head, "[") && strings.Trim(number, "0123456789.") == "" {
			if skip = strings.Contains(rest, " sees this)"); !skip {
				list = append(list, said{number: number, text: strings.TrimSuffix(rest, " (edited)") + "\n"})
			}
		} else if n := len(list); n > 0 && !skip && line != "" {
			if strings.Contains(line, resent) {
				list[n-1].marked = true
			} else {
				list[n-1].text += line + "\n"
			}
		}
		blank = line == ""
	}
	return list
}

// once takes away what is visible twice with a remark, and says how often that was.
func once(list []said) (left []said, repeated int) {
	for i, s := range list {
		twin := false
		for k, other := range list {
			twin = twin || s.marked && k != i && other.text == s.text && (!other.marked || k < i)
		}
		if twin {
			repeated++
			continue
		}
		left = append(left, s)
	}
	return left, repeated
}

// thread writes it down, with numbers of its own.
func thread(list []said) string {
	numbers := map[string]string{}
	n, replies := 0, 0
	for _, s := range list {
		if strings.Contains(s.number, ".") {
			replies++
			numbers[s.number] = fmt.Sprintf("%d.%d", n, replies)
			continue
		}
		n, replies = n+1, 0
		numbers[s.number] = fmt.Sprint(n)
	}
	var b strings.Builder
	for _, s := range list {
		text := s.text
		for from, to := range numbers {
			text = strings.ReplaceAll(text, "message ["+from+"]", "message <"+to+">")
		}
		fmt.Fprintf(&b, "[%s] %s\n", numbers[s.number], text)
	}
	return b.String()
}

// attachment is a file that people see.
type attachment struct{ name, content string }

// attachments are the files that people see in a channel, in their order.
func (w *world) attachments(channel string) (list []attachment) {
	for _, m := range w.slack.All(channel) {
		if m.Deleted || m.VisibleTo != "" {
			continue
		}
		for _, f := range m.Files {
			list = append(list, attachment{f.Name, strings.ReplaceAll(string(f.Content()), w.dir, "/world")})
		}
	}
	return list
}

// keys are the names that the bot gave to its messages in a channel, with how often each is there without a remark.
func (w *world) keys(channel string) map[string]int {
	count := map[string]int{}
	for _, m := range w.slack.All(channel) {
		var meta struct {
			Payload struct {
				Key string `json:"msg_key"`
			} `json:"event_payload"`
		}
		if m.Deleted || m.Metadata == nil || strings.Contains(m.Text, resent) {
			continue
		}
		if json.Unmarshal(m.Metadata, &meta) == nil && meta.Payload.Key != "" {
			count[meta.Payload.Key]++
		}
	}
	return count
}
