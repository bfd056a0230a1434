package resolve

import (
	"strings"

	"faultline/knowledge"
	"faultline/pattern"
)

// nameItems finds what failures name.
func nameItems(all []*Failure) {
	for _, fl := range all {
		if fl.Item == "" && fl.Role == knowledge.CauseRole && fl.Mechanism.Is(knowledge.OfItem) {
			fl.Item = itemOf(fl)
		}
	}
}

func itemOf(fl *Failure) string {
	texts := []string{fl.Text}
	if fl.Exc != nil {
		texts = nil
		for i := range fl.Exc.Cause { // the first block of a chain says most
			texts = append(texts, fl.Exc.Cause[i].Message)
		}
		texts = append(texts, fl.Exc.Message)
	}
	for _, t := range texts {
		if item := itemIn(t); item != "" {
			return item
		}
	}
	return ""
}

// quotedItem is a name in quotation marks after words that introduce one; bareItem a path, an URL or a file name after a
// word for an item.
var (
	quotedItem = pattern.New(`(?i)(?:no such file or directory|cannot identify image file|open(?:ing)?|read(?:ing)?|load(?:ing)?|decod(?:e|ing)|pars(?:e|ing)|process(?:ing)?|` +
		`corrupt(?:ed)?|damaged|bad|invalid|truncated|file|shard|sample|item|record|key|path|url|object|image|audio|utterance|cut|archive)[^'"\n]{0,48}['"]([^'"\n]{3,512})['"]`)
	bareItem = pattern.New(`(?i)\b(?:file|shard|sample|item|record|key|path|url|object|image|audio|utterance|cut|archive|open|opening|read|reading|load|loading)\s*[:=]?\s+` +
		`((?:[a-z][a-z0-9+]*://|/|\.{1,2}/|[\w.-]+/)[^\s'",;<>()\[\]]{1,512}|[\w-]+(?:\.[\w-]+)*\.(?:tar|tgz|gz|zst|zip|jpg|jpeg|png|webp|wav|flac|mp3|m4a|ogg|mp4|json|jsonl|parquet|arrow|npy|npz|bin|idx|pt|h5|txt|tfrecord))\b`)
)

// itemIn is the item that a message names, "" where it names none.
func itemIn(s string) string {
	const most = 2048
	s = s[:min(len(s), most)]
	m := quotedItem.FindStringSubmatch(s)
	if m == nil || !named(m[1]) {
		m = bareItem.FindStringSubmatch(s)
	}
	if m == nil || !named(m[1]) {
		return ""
	}
	item := m[1]
	if strings.Contains(item, "://") {
		item, _, _ = strings.Cut(item, "?") // what signs a request is no part of the name
	}
	return strings.TrimRight(item, ".:")
}

// named says that a text can be the name of one item, rather than a word in quotation marks: it has a separator of names or
// a number in it, and no blank.
func named(s string) bool {
	return strings.ContainsAny(s, "/._-0123456789") && !strings.ContainsAny(s, " \t") && strings.Trim(s, "/.") != ""
}
