// Package pattern holds regular expressions that are compiled when they are first needed: of those that the readers know
// one log needs a few, and compiling all of them takes longer than reading a short one.
package pattern

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression that need not have been compiled yet. It is safe for concurrent use.
type Regexp struct {
	expr  string
	once  sync.Once
	re    *regexp.Regexp
	needs []need
	heads heads
}

// eager makes tests see what does not compile wherever a pattern stands.
var eager = len(os.Args) > 0 && strings.HasSuffix(os.Args[0], ".test")

// New returns a pattern. One that does not compile panics when it is first used, and at once in tests.
func New(expr string) *Regexp {
	r := &Regexp{expr: expr}
	if eager {
		r.compiled()
	}
	return r
}

func (r *Regexp) compiled() *regexp.Regexp {
	r.once.Do(func() { r.re, r.needs, r.heads = regexp.MustCompile(r.expr), needsOf(r.expr), headsOf(r.expr) })
	return r.re
}

// possible reports whether a text may match an expression that is compiled.
func possible[text string | []byte](r *Regexp, b text) bool {
	for i := range r.needs {
		if !met(&r.needs[i], b) {
			return false
		}
	}
	return true
}

// The methods are those of package regexp.

func (r *Regexp) Match(b []byte) bool {
	re := r.compiled()
	from := start(&r.heads, b)
	return from >= 0 && possible(r, b[from:]) && re.Match(b[from:])
}

func (r *Regexp) FindSubmatch(b []byte) [][]byte {
	re := r.compiled()
	from := start(&r.heads, b)
	if from < 0 || !possible(r, b[from:]) {
		return nil
	}
	return re.FindSubmatch(b[from:])
}

func (r *Regexp) MatchString(s string) bool {
	re := r.compiled()
	from := start(&r.heads, s)
	return from >= 0 && possible(r, s[from:]) && re.MatchString(s[from:])
}

func (r *Regexp) FindStringSubmatch(s string) []string {
	re := r.compiled()
	from := start(&r.heads, s)
	if from < 0 || !possible(r, s[from:]) {
		return nil
	}
	return re.FindStringSubmatch(s[from:])
}

func (r *Regexp) Find(b []byte) []byte        { return r.compiled().Find(b) }
func (r *Regexp) SubexpIndex(name string) int { return r.compiled().SubexpIndex(name) }
func (r *Regexp) SubexpNames() []string       { return r.compiled().SubexpNames() }
func (r *Regexp) FindString(s string) string  { return r.compiled().FindString(s) }
func (r *Regexp) FindIndex(b []byte) []int    { return r.compiled().FindIndex(b) }
func (r *Regexp) ReplaceAllString(src, repl string) string {
	return r.compiled().ReplaceAllString(src, repl)
}
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}
func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

func (r *Regexp) FindStringIndex(s string) []int         { return r.compiled().FindStringIndex(s) }
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }
func (r *Regexp) ReplaceAllStringFunc(src string, repl func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(src, repl)
}
