// Package site reads what an installation knows beside Faultline (docs/site-knowledge.md): its own failures, who acts there and what to do
// first, and what is noise there. What it returns are entries like those of package knowledge.
package site

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"faultline/config/strict"
	"faultline/knowledge"
)

// file is the form of a file.
type file struct {
	Failures  []failure     `yaml:"failures"`
	Actions   []action      `yaml:"actions"`
	Suppress  []suppression `yaml:"suppress"`
	Baselines baselines     `yaml:"baselines"`
}

// failure is a wording that means a failure at the site.
type failure struct {
	ID        string    `yaml:"id"`
	Line      string    `yaml:"line"` // with {name} for what varies, see template
	Not       []string  `yaml:"not"`
	Mechanism string    `yaml:"mechanism"`
	Role      string    `yaml:"role"`   // cause, symptom, consequence, info; "" = cause
	Proves    string    `yaml:"proves"` // alone, with-others; "" = with-others
	Blames    string    `yaml:"blames"` // rank, node, either-end; "" = the writer of what is a cause
	Scope     string    `yaml:"scope"`
	Names     []name    `yaml:"names"`
	LooksLike []string  `yaml:"looks_like"`
	Owner     string    `yaml:"owner"`
	Do        []advice  `yaml:"do"`
	Meaning   string    `yaml:"meaning"`
	Examples  []example `yaml:"examples"`
}

// name says what a {name} of the line names, and what the line says of it.
type name struct {
	Capture string `yaml:"capture"`
	Is      string `yaml:"is"`
	Whose   string `yaml:"whose"`
}

type advice struct {
	Text    string `yaml:"text"`
	Command string `yaml:"command"`
}

// example is a line, and what it comes to.
type example struct {
	Text string `yaml:"text"`
	// Rank writes the line; nil: its file does not say who.
	Rank *int `yaml:"rank"`
	// Expect is the verdict's mechanism; "match": the entry knows the line, whatever it comes to; "nothing": it does not know it.
	Expect string `yaml:"expect"`
}

// action is who acts, and what to do first, for a mechanism or an entry.
type action struct {
	Mechanism string   `yaml:"mechanism"`
	Entry     string   `yaml:"entry"`
	Owner     string   `yaml:"owner"`
	Do        []advice `yaml:"do"`
}

// suppression is a wording that means nothing at the site.
type suppression struct {
	ID       string    `yaml:"id"`
	Line     string    `yaml:"line"`
	Not      []string  `yaml:"not"`
	Causes   []string  `yaml:"causes"`
	Why      string    `yaml:"why"`
	Examples []example `yaml:"examples"`
}

// baselines are what the site's hardware reaches.
type baselines struct {
	Bandwidth float64 `yaml:"bus_bandwidth_gbs"`
}

// Knowledge is what files say, with what tries it out.
type Knowledge struct {
	knowledge.Site
	Examples []Example
}

// Example is a line of an entry, and what it has to come to.
type Example struct {
	Entry  knowledge.ID
	Site   string // the place that states it
	Text   string
	Rank   int    // NoRank: nobody says who writes it
	Expect string // the verdict's mechanism; Match, Nothing
}

// What an example may come to beside a mechanism.
const (
	Match   = "match"
	Nothing = "nothing"
	NoRank  = -1
)

// Load reads files. Each error names file and line.
func Load(files []string) (Knowledge, error) {
	var all Knowledge
	if len(files) > maxFiles {
		return all, fmt.Errorf("%d site knowledge files are more than %d", len(files), maxFiles)
	}
	r := reader{ids: map[string]string{}}
	for _, name := range files {
		raw, err := strict.ReadRegular(name)
		if err != nil {
			return all, fmt.Errorf("site knowledge: %w", err)
		}
		r.read(name, raw)
		if all.Files != "" {
			all.Files += ", "
		}
		all.Files += fmt.Sprintf("%s (sha256 %.8x)", filepath.Base(name), sha256.Sum256(raw))
	}
	r.refer()
	r.out.Files = all.Files
	return r.out, errors.Join(r.errs...)
}

// Parse reads one file from bytes.
func Parse(name string, raw []byte) (Knowledge, error) {
	r := reader{ids: map[string]string{}}
	r.read(name, raw)
	r.refer()
	r.out.Files = fmt.Sprintf("%s (sha256 %.8x)", filepath.Base(name), sha256.Sum256(raw))
	return r.out, errors.Join(r.errs...)
}

// Bounds of what a site may know.
const (
	maxFiles    = 16
	maxEntries  = 500 // of each kind, in all files
	maxExamples = 16  // of an entry
	maxDo       = 6
	maxText     = 400 // bytes of a sentence or a command
	maxLine     = 400 // of a template
	maxExample  = 4 << 10
)

// reader turns files into entries and collects what is wrong with them.
type reader struct {
	file  string
	where func(string) int
	ids   map[string]string // where each id is stated
	late  []func()          // what refers to other entries, of whichever file
	out   Knowledge
	errs  []error
}

func (r *reader) bad(path, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s: %s", r.file, r.line(path), path, fmt.Sprintf(format, args...)))
}

// line is where the file states a key, or else what holds it.
func (r *reader) line(path string) int {
	for path != "" {
		if n := r.where(path); n > 0 {
			return n
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 1
}

// at is how reports call the place of a key.
func (r *reader) at(path string) string {
	return fmt.Sprintf("%s:%d", filepath.Base(r.file), r.line(path))
}

func (r *reader) read(name string, raw []byte) {
	var f file
	r.file = name
	if err := strict.Decode(name, raw, &f); err != nil {
		r.errs = append(r.errs, err)
		return
	}
	r.where = strict.Lines(raw)
	for list, n := range map[string]int{"failures": len(f.Failures), "actions": len(f.Actions), "suppress": len(f.Suppress)} {
		if n > maxEntries {
			r.bad(list, "%d entries are more than %d", n, maxEntries)
			return
		}
	}
	for i := range f.Failures {
		r.failure(fmt.Sprintf("failures[%d]", i), &f.Failures[i])
	}
	for i := range f.Actions {
		r.action(fmt.Sprintf("actions[%d]", i), &f.Actions[i])
	}
	for i := range f.Suppress {
		r.suppression(fmt.Sprintf("suppress[%d]", i), &f.Suppress[i])
	}
	switch b := f.Baselines.Bandwidth; {
	case !(b >= 0 && b <= maxBandwidth): // NaN is on neither side of anything
		r.bad("baselines.bus_bandwidth_gbs", "%g is not between 0 and %d GB/s", b, maxBandwidth)
	case b > 0:
		r.out.Bandwidth = b
	}
	if len(r.out.Entries)+len(r.out.Acts) > maxEntries*2 {
		r.errs = append(r.errs, fmt.Errorf("%s: all files together have more than %d entries", name, maxEntries*2))
	}
}

// maxBandwidth is far above what any fabric reaches.
const maxBandwidth = 100_000

// refer checks what refers to entries of any file.
func (r *reader) refer() {
	for _, check := range r.late {
		check()
	}
}

// known says whether an entry of this id is Faultline's or the site's.
func (r *reader) known(id string) bool {
	_, own := r.ids[id]
	_, ok := knowledge.Whole().Lookup(knowledge.ID(id))
	return own || ok
}

// allIDs are the ids of all entries, for hints.
func (r *reader) allIDs() (all []string) {
	for _, s := range knowledge.Whole().Signatures() {
		all = append(all, string(s.ID))
	}
	for id := range r.ids {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}
