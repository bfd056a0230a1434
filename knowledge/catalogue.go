package knowledge

import "slices"

// Catalogue is what is known of the wordings of lines. It never changes; a nil one holds everything that this package knows.
type Catalogue struct {
	entries *compiled
	deaf    []string // readers whose wordings, which are written in code, are left out
	without []ID
	site    *site // what a site added; nil where none did
}

// Whole returns everything that this package knows.
func Whole() *Catalogue { return nil }

func (k *Catalogue) compiled() *compiled {
	if k == nil || k.entries == nil {
		return index()
	}
	return k.entries
}

// Whole says that nothing was added to what this package knows, and nothing left out.
func (k *Catalogue) Whole() bool { return k == nil || k.entries == nil && len(k.deaf) == 0 }

// Without returns the catalogue without these entries: what it is like not to have foreseen them.
func (k *Catalogue) Without(ids ...ID) *Catalogue {
	was := k.compiled()
	var all []Signature
	var patterns []func() expression
	for i, s := range was.all {
		if !slices.Contains(ids, s.ID) {
			all, patterns = append(all, s), append(patterns, was.pattern[i])
		}
	}
	return &Catalogue{entries: compile(all, patterns), deaf: k.unread(), without: slices.Concat(k.forgotten(), ids), site: k.added()}
}

// WithoutReaders returns the catalogue without the wordings of some readers that are written in code, by the readers' names.
func (k *Catalogue) WithoutReaders(names ...string) *Catalogue {
	return &Catalogue{entries: k.compiled(), deaf: slices.Concat(k.unread(), names), without: k.forgotten(), site: k.added()}
}

func (k *Catalogue) unread() []string {
	if k == nil {
		return nil
	}
	return k.deaf
}

func (k *Catalogue) forgotten() []ID {
	if k == nil {
		return nil
	}
	return k.without
}

// Messages returns what people should know of lines that the engine does not match. The caller must not change them.
func (k *Catalogue) Messages() []Message {
	if len(k.forgotten()) == 0 {
		return messages
	}
	return slices.DeleteFunc(slices.Clone(messages), func(m Message) bool { return slices.Contains(k.without, m.ID) })
}

// Reads tells whether the wordings of this reader are known.
func (k *Catalogue) Reads(reader string) bool { return !slices.Contains(k.unread(), reader) }

// Signatures returns all signatures in table order. The caller must not change them.
func (k *Catalogue) Signatures() []Signature { return k.compiled().all }

// Lookup finds a signature by its id.
func (k *Catalogue) Lookup(id ID) (Signature, bool) {
	c := k.compiled()
	if i, ok := c.byID[id]; ok {
		return c.all[i], true
	}
	if s, ok := CauseStated(id); ok {
		return s.Signature, true
	}
	return Signature{}, false
}

// Entry returns the signature of an id; that of an id that no line has states nothing. The caller must not change it.
func (k *Catalogue) Entry(id ID) *Signature {
	c := k.compiled()
	if i, ok := c.byID[id]; ok {
		return &c.all[i]
	}
	if s, ok := CauseStated(id); ok {
		return &s.Signature
	}
	return &Signature{}
}

// Blames says that one of the entries puts the blame there.
func (k *Catalogue) Blames(ids []ID, where Blame) bool {
	return slices.ContainsFunc(ids, func(id ID) bool { return k.Entry(id).Blames == where })
}

// Match appends to dst the ids of the signatures that text satisfies, in table order. Text is one message without ANSI
// codes; what lies beyond 64 KiB is not looked at, nor where a signature's first literal stands for more than the
// maxTries-th time.
func (k *Catalogue) Match(dst []ID, text []byte) []ID {
	from := len(dst)
	dst, _ = k.compiled().match(dst, bound(text))
	if s := k.added(); s != nil && s.mutes {
		dst = k.muted(dst, from)
	}
	return dst
}

// Fields returns what the signature's Pattern captures from text, without empty captures; nil if it captures nothing.
func (k *Catalogue) Fields(id ID, text []byte) map[string]string {
	return k.compiled().fields(id, text)
}
