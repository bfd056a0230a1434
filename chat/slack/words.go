package slack

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"faultline/messages/redact"
)

// aisToken is the shape that people copy out of a shell; redact takes care of all others.
var aisToken = regexp.MustCompile(`(?i)AIS_AUTHN_TOKEN(?:_FILE)?\s*[=:]\s*\S+`)

// markup is Slack's <…>: links, channels, people and groups.
var markup = regexp.MustCompile(`<([^<>]*)>`)

var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// typed makes words out of what somebody typed where others may read it. When a secret is among them, nothing of the
// text is kept and warned is true.
func typed(raw string) (words string, warned bool) {
	words = plain(cut(raw, maxText))
	if hasSecret(raw) || hasSecret(words) {
		return "", true
	}
	return strings.TrimSpace(redact.String(words)), false
}

func hasSecret(s string) bool {
	return aisToken.MatchString(s) || strings.Count(redact.String(s), redact.Mask) > strings.Count(s, redact.Mask)
}

// plain undoes Slack's markup: a link becomes what was typed, which is its label where it has one.
func plain(s string) string {
	s = markup.ReplaceAllStringFunc(s, func(m string) string {
		target, label, labelled := strings.Cut(m[1:len(m)-1], "|")
		switch {
		case strings.HasPrefix(target, "@"):
			return m
		case strings.HasPrefix(target, "#"):
			if labelled {
				return "#" + label
			}
			return target
		case strings.HasPrefix(target, "!"):
			return "@" + strings.TrimPrefix(target, "!")
		case labelled && label != "":
			return label
		}
		return target
	})
	return unescape.Replace(s)
}

// unmention removes the mention of the bot, wherever it stands; where the bot's id is unknown, the mention in front.
func unmention(s, bot string) string {
	if bot != "" {
		for _, open := range []string{"<@" + bot + ">", "<@" + bot + "|"} {
			for {
				i := strings.Index(s, open)
				if i < 0 {
					break
				}
				end := strings.IndexByte(s[i:], '>')
				if end < 0 {
					break
				}
				s = s[:i] + s[i+end+1:]
			}
		}
		return s
	}
	trimmed := strings.TrimSpace(s)
	if strings.HasPrefix(trimmed, "<@") {
		if end := strings.IndexByte(trimmed, '>'); end > 0 {
			return trimmed[end+1:]
		}
	}
	return s
}

// clean makes text harmless and masks secrets in it.
func clean(s string) string { return redact.String(s) }

// cleanName does the same for a name that is usually one of ours.
func cleanName(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return redact.String(s)
		}
	}
	return s
}

// cut shortens s to at most n bytes, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
