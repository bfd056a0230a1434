package console

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// split cuts a typed line into words as a shell does, as far as a path needs it: quotes and backslashes. Nothing is
// expanded and nothing is run.
func split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	var quote rune
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quotation mark is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// places makes paths of what was typed. It looks whether they are there, so that a slip of the pen is corrected at once
// and leaves the investigation as it was.
func (c *Console) places(args []string) ([]string, bool) {
	var places []string
	for _, arg := range args {
		if rest, ok := strings.CutPrefix(arg, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				arg = filepath.Join(home, rest)
			}
		}
		if _, err := os.Stat(arg); err != nil {
			var pathErr *os.PathError
			reason := err.Error()
			if errors.As(err, &pathErr) {
				reason = pathErr.Err.Error()
			}
			c.say("%s: %s. Type the path of a directory, a file or an archive; help lists the commands.", printable(arg), reason)
			return nil, false
		}
		places = append(places, arg)
	}
	return places, true
}

// wrap breaks a line at spaces so that it fits, and indents what follows by two columns.
func wrap(text string, width int) string {
	if width <= 0 || len(text) <= width {
		return text
	}
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(text, " ") {
		size := len([]rune(word))
		switch {
		case i == 0:
		case column+1+size > width:
			b.WriteString("\n  ")
			column = 2
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += size
	}
	return strings.ReplaceAll(b.String(), " \n", "\n") // a double space may have ended a line
}
