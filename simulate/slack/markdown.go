package slack

import "strings"

// paragraph is a piece of a markdown block: what the page shows of it is less than Slack shows.
type paragraph struct {
	Kind string // h, li, pre, p
	Body []span
}

// markdown reads the little that the page knows of Markdown: headings, lists, fenced code, bold and code.
func markdown(text string) []paragraph {
	var out []paragraph
	var fence []string
	inside := false
	for _, line := range split(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			if inside {
				out = append(out, paragraph{"pre", []span{{Text: strings.Join(fence, "\n")}}})
			}
			inside, fence = !inside, nil
		case inside:
			fence = append(fence, line)
		case trimmed == "":
		case strings.HasPrefix(trimmed, "#"):
			out = append(out, paragraph{"h", []span{{Text: strings.TrimLeft(trimmed, "# ")}}})
		case strings.HasPrefix(trimmed, "- "), strings.HasPrefix(trimmed, "* "):
			out = append(out, paragraph{"li", inline(trimmed[2:])})
		case strings.HasPrefix(trimmed, "|"):
			out = append(out, paragraph{"pre", []span{{Text: trimmed}}})
		default:
			out = append(out, paragraph{"p", inline(trimmed)})
		}
	}
	if inside {
		out = append(out, paragraph{"pre", []span{{Text: strings.Join(fence, "\n")}}})
	}
	return out
}

// inline reads **bold** and `code`.
func inline(text string) []span {
	var out []span
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			out = append(out, span{Text: part, Code: true})
			continue
		}
		for j, piece := range strings.Split(part, "**") {
			if piece != "" {
				out = append(out, span{Text: piece, Bold: j%2 == 1})
			}
		}
	}
	return out
}

// emoji shows the names that bots use most; others stay names.
func emoji(name string) string {
	if sign, ok := signs[strings.Trim(name, ":")]; ok {
		return sign
	}
	return name
}

var signs = map[string]string{
	"eyes": "👀", "white_check_mark": "✅", "heavy_check_mark": "✔️", "x": "❌", "warning": "⚠️", "hourglass": "⌛",
	"hourglass_flowing_sand": "⏳", "mag": "🔍", "+1": "👍", "thumbsup": "👍", "-1": "👎", "question": "❓", "exclamation": "❗",
	"red_circle": "🔴", "large_green_circle": "🟢", "large_yellow_circle": "🟡", "lock": "🔒", "key": "🔑", "wave": "👋",
	"rotating_light": "🚨", "information_source": "ℹ️", "memo": "📝", "bulb": "💡", "no_entry": "⛔", "tada": "🎉",
}
