package worker

import (
	"bytes"
	"strings"
)

// What chats, issue forms and web pages do to text that is pasted into them. Positions and quotations stay those of the
// bytes as they are.

// entities are what chats and web pages put for what they would take as markup.
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&#39;", "'")

// unescape gives back what was typed: "10.0.0.2&lt;4791&gt;" is "10.0.0.2<4791>".
func unescape(text []byte) []byte {
	if i := bytes.IndexByte(text, '&'); i < 0 || bytes.IndexByte(text[i:], ';') < 0 {
		return text
	}
	return []byte(entities.Replace(string(text)))
}

const linkMark = "](http"

// unlink undoes what chats and issue forms do to file names: "[p2p.cc:783](https://p2p.cc:783/)" is "p2p.cc:783".
func unlink(text []byte) []byte {
	if bytes.IndexByte(text, ']') < 0 || !bytes.Contains(text, []byte(linkMark)) {
		return text
	}
	var out []byte
	for {
		i := bytes.Index(text, []byte(linkMark))
		if i < 0 {
			return append(out, text...)
		}
		start := bytes.LastIndexByte(text[:i], '[')
		end := bytes.IndexByte(text[i:], ')')
		if end < 0 {
			return append(out, text...)
		}
		name, url := text[start+1:i], text[i+2:i+end]
		if start < 0 || len(name) == 0 || !bytes.Contains(url, name) {
			out = append(out, text[:i+end+1]...)
		} else {
			out = append(append(out, text[:start]...), name...)
		}
		text = text[i+end+1:]
	}
}
