package knowledge

import "slices"

// Site is what one installation knows beside this package: of its own failures, of who acts there, and of what is noise there.
type Site struct {
	// Files names what it was read from, with a hash.
	Files string
	// Entries stand behind all others: where one of this package and one of these know a line, the former speaks.
	Entries []Signature
	Acts    []Act
	// Bandwidth is what runs of nccl-tests reach on the bus, in GB/s; 0 where the site does not say.
	Bandwidth float64
}

// Act is who acts, and what to do first, at a site: for a mechanism, or for one entry.
type Act struct {
	Mechanism Slug
	Entry     ID
	Owner     Owner // "" leaves the owner as it is
	Do        []Advice
	Site      string // the place that says so
}

// site is the form of a Site that is asked.
type site struct {
	Site
	mutes bool
	base  *Catalogue
}

// With returns the catalogue with what a site knows.
func (k *Catalogue) With(s Site) *Catalogue {
	was := k.compiled()
	all, patterns := slices.Clone(was.all), slices.Clone(was.pattern)
	added := &site{Site: s, base: k}
	for _, e := range s.Entries {
		all, patterns = append(all, e), append(patterns, e.compile())
		added.mutes = added.mutes || e.Mutes != nil
	}
	return &Catalogue{entries: compile(all, patterns), deaf: k.unread(), without: k.forgotten(), site: added}
}

func (k *Catalogue) added() *site {
	if k == nil {
		return nil
	}
	return k.site
}

// Site returns what a site added; nothing where none did. The caller must not change it.
func (k *Catalogue) Site() Site {
	if s := k.added(); s != nil {
		return s.Site
	}
	return Site{}
}

// Base returns the catalogue as it was before a site added to it.
func (k *Catalogue) Base() *Catalogue {
	if s := k.added(); s != nil {
		return s.base
	}
	return k
}

// WithoutSiteFailures returns the catalogue without the failures that a site added. Its suppressions, and who acts there, stay.
func (k *Catalogue) WithoutSiteFailures() *Catalogue {
	var ids []ID
	for _, e := range k.Site().Entries {
		if e.Mutes == nil {
			ids = append(ids, e.ID)
		}
	}
	return k.Without(ids...)
}

// Acts returns who acts, and what to do first, by the site's own word: on an entry before on its mechanism.
func (k *Catalogue) Acts(id ID, slug Slug) (a Act, ok bool) {
	s := k.added()
	if s == nil {
		return a, false
	}
	for i := range s.Site.Acts {
		switch o := &s.Site.Acts[i]; {
		case o.Entry != "" && o.Entry == id:
			return *o, true
		case o.Mechanism != "" && o.Mechanism == slug && !ok:
			a, ok = *o, true
		}
	}
	return a, ok
}

// muted takes out of dst[from:] what the site's entries silence.
func (k *Catalogue) muted(dst []ID, from int) []ID {
	var causes []ID
	mute := false
	for _, id := range dst[from:] {
		if m := k.Entry(id).Mutes; m != nil {
			mute, causes = true, append(causes, m.Causes...)
		}
	}
	if !mute {
		return dst
	}
	kept := dst[:from]
	for _, id := range dst[from:] {
		s := k.Entry(id)
		if s.Mutes != nil || s.Proven() && !slices.Contains(causes, id) {
			kept = append(kept, id)
		}
	}
	return kept
}

// Proven says that a line of the entry proves a cause by itself.
func (s *Signature) Proven() bool { return s.Role == CauseRole && s.Direct }

// Where says, for people, where a site's entry comes from.
func (s *Signature) Where() string { return SiteWord + ": " + s.Site }

// SiteWord is how reports call what a site knows.
const SiteWord = "site knowledge"

// Only returns a catalogue of these entries and nothing else.
func Only(entries ...Signature) *Catalogue {
	var patterns []func() expression
	for i := range entries {
		patterns = append(patterns, entries[i].compile())
	}
	return &Catalogue{entries: compile(entries, patterns)}
}
