package eval

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"faultline/incident"
	"faultline/knowledge"
	"faultline/messages"
	"faultline/simulate"
)

// Trial is a way to run a case as if its wording had not been foreseen.
type Trial string

const (
	// Blind leaves out every entry, and every reader with a wording of its own, that knows a line which the verdict cites.
	Blind Trial = "blind"
	// Drift rewrites the lines that the verdict rests on, with everything known.
	Drift Trial = "drift"
	// Collected merges the logs of the processes into one file, each line behind a prefix that was made up for the case.
	Collected Trial = "collected"
)

// Sure is from which confidence on a verdict is acted on.
const Sure = 0.75

// buried is how many lines the logs of a case have at least before it is tried: in a short log three quotations hit by luck.
const buried = 5000

// Tried is a case that was run twice: as it is, and as one that nobody foresaw. Both times its logs are buried in noise.
type Tried struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Trial Trial  `json:"trial"`
	// Fails says that its truth is a failure, or an end from outside.
	Fails bool `json:"fails"`
	// Today: the verdict with everything known is right; Confident: and sure of it.
	Today     bool `json:"today"`
	Confident bool `json:"confident"`
	// Key are the lines that the verdict rests on; a case without one is not tried, nor is one of which nothing was left out or rewritten.
	Key   []string `json:"key"`
	Out   []string `json:"out,omitempty"` // what was left out
	Tried bool     `json:"tried"`
	// What came of it.
	Mechanism string              `json:"mechanism"`
	Score     incident.Confidence `json:"confidence"`
	Quoted    bool                `json:"quoted"` // a key line is on the first screen
	Shown     []string            `json:"shown"`  // that first screen
	Same      bool                `json:"same"`   // the answer is as right as today
	Placed    *bool               `json:"placed"` // the rank or node is named; null where today's verdict names none
	Wrong     bool                `json:"wrong"`  // it is sure, and not right
	Unbroken  bool                `json:"unbroken"`
	Still     bool                `json:"still"` // it is right and sure
	Error     string              `json:"error,omitempty"`
}

// Right says that the answer is right, or that none is given and a key line is shown.
func (t *Tried) Right() bool { return t.Same || t.open() && t.Quoted }

func (t *Tried) open() bool { return t.Mechanism == unknownMechanism || t.Score < Sure }

// Try runs the cases below dirs, each as it is and as one that nobody foresaw.
func Try(ctx context.Context, dirs []string, trial Trial, opts Options) ([]Tried, error) {
	if opts.Diagnose == nil {
		return nil, errors.New("eval: no engine to evaluate")
	}
	folders, err := discover(dirs)
	if err != nil {
		return nil, err
	}
	out := make([]Tried, len(folders))
	err = each(ctx, len(folders), opts, func(i int) { out[i] = try(ctx, folders[i], trial, opts) })
	if err != nil {
		return nil, fmt.Errorf("trying %d cases: %w", len(folders), err)
	}
	slices.SortStableFunc(out, func(a, b Tried) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

func try(ctx context.Context, dir string, trial Trial, opts Options) Tried {
	t := Tried{ID: filepath.Base(dir), Trial: trial}
	if err := t.run(ctx, dir, opts); err != nil {
		t.Error = err.Error()
	}
	return t
}

func (t *Tried) run(ctx context.Context, dir string, opts Options) error {
	temp, err := os.MkdirTemp("", "faultline-try-")
	if err != nil {
		return fmt.Errorf("making room for a case: %w", bare(err))
	}
	defer os.RemoveAll(temp)
	c, in, err := load(dir, func() (string, error) { return temp, nil })
	if err != nil {
		return err
	}
	t.ID, t.Label, t.Fails = c.ID, c.label(), !c.control()
	if t.Trial == Collected {
		return t.collect(ctx, &c, opts, temp)
	}
	if in.Sources, err = bury(in.Sources, filepath.Join(temp, "buried"), seedOf(c.ID)); err != nil {
		return err
	}
	today, err := protected(ctx, in, opts.engine())
	if err != nil {
		return err
	}
	right, judged := rightOf(&c, today)
	t.Today = judged && right
	t.Confident = t.Today && today.Verdict.Confidence >= Sure
	key := keyLines(today)
	for _, k := range key {
		t.Key = append(t.Key, fmt.Sprintf("%s:%d %s", k.File, k.Line, k.Text))
	}
	if len(key) == 0 {
		return nil
	}
	again := in
	switch t.Trial {
	case Blind:
		again.Known, t.Out = unforeseen(today, in.Sources, opts.Readers)
		t.Tried = len(t.Out) > 0
	case Drift:
		if again.Sources, t.Tried, err = drift(in.Sources, key, filepath.Join(temp, "drifted"), seedOf(c.ID)); err != nil {
			return err
		}
	}
	if !t.Tried {
		return nil
	}
	then, err := protected(ctx, again, opts.engine())
	if err != nil {
		return err
	}
	t.judge(&c, today, then, again.Sources, key)
	return nil
}

// judge compares what was said with what is right; where no truth is established, with what is said today.
func (t *Tried) judge(c *caseFile, today, then *incident.Report, sources []incident.Source, key []incident.Evidence) {
	v := &then.Verdict
	t.Mechanism, t.Score = v.Mechanism, v.Confidence
	right, judged := rightOf(c, then)
	if !judged {
		right = v.Mechanism == today.Verdict.Mechanism
	}
	t.Shown = messages.FirstScreen(then, 0)
	screen := strings.Join(t.Shown, " ")
	t.Same = right
	t.Quoted = quoted(screen, then, sources, key)
	t.Wrong = v.Confidence >= Sure && !right && !leavesRoom(c, v)
	t.Unbroken = t.Fails && !right && v.Status == incident.NoFailure
	t.Still = right && v.Confidence >= Sure
	if t.Today {
		t.Placed = placed(&today.Verdict, then, screen, sources, key)
	}
}

// leavesRoom says that a set holds the truth, or that there may be something else.
func leavesRoom(c *caseFile, v *incident.Verdict) bool {
	truth := c.Accept
	if c.simulated() {
		truth = c.Truth.Candidates
	}
	return slices.ContainsFunc(v.Candidates, func(x incident.Candidate) bool {
		return x.Mechanism == unknownMechanism || len(v.Candidates) > 1 && slices.Contains(truth, x.Mechanism)
	})
}

// rightOf judges a report by the truth of its case; judged is false where none is established.
func rightOf(c *caseFile, r *incident.Report) (right, judged bool) {
	if c.simulated() {
		s := &sheet{c: c, r: r}
		s.simulated()
		return s.right != nil && *s.right, s.right != nil
	}
	if len(c.Accept) == 0 {
		return false, false
	}
	return accepted(c.Accept, &r.Verdict) && !slices.Contains(c.Forbid.Mechanisms, r.Verdict.Mechanism), true
}

// keyLines are the lines that a verdict rests on: those of its cause, or, where it has none, of the chain.
func keyLines(r *incident.Report) []incident.Evidence {
	var cause, all []incident.Evidence
	for _, l := range r.Chain {
		for _, e := range l.Evidence {
			if e.Kind != incident.KindQuote || e.Line == 0 {
				continue
			}
			if all = append(all, e); l.Role == "trigger" || l.Role == "cause" {
				cause = append(cause, e)
			}
		}
	}
	if len(cause) > 0 {
		return cause
	}
	return all
}

// message is how many lines below a cited one are taken for the same message.
const message = 8

// unforeseen is the catalogue without whatever knows a line that the verdict cites, and the names of what was left out.
func unforeseen(r *incident.Report, sources []incident.Source, readers func(line string) []string) (*knowledge.Catalogue, []string) {
	var ids []knowledge.ID
	var deaf, out []string
	leave := func(text string) {
		ids = knowledge.Whole().Match(ids, []byte(text))
		for _, m := range knowledge.Whole().Messages() {
			if m.In(text) {
				ids = append(ids, m.ID)
			}
		}
		if readers != nil {
			deaf = append(deaf, readers(text)...)
		}
	}
	texts := linesOf(sources)
	for _, l := range r.Chain {
		for _, e := range l.Evidence {
			if e.Kind != incident.KindQuote || e.Line == 0 {
				continue
			}
			leave(plain(e.Text))
			all := texts(e.File)
			var below []string
			for n := int(e.Line) - 1; n < min(len(all), int(e.Line)+message); n++ {
				below = append(below, plain(all[n]))
				ids = knowledge.Whole().Match(ids, []byte(below[len(below)-1]))
			}
			ids = knowledge.Whole().Match(ids, []byte(strings.Join(below, "\n")))
		}
	}
	slices.Sort(ids)
	slices.Sort(deaf)
	ids, deaf = slices.Compact(ids), slices.Compact(deaf)
	for _, id := range ids {
		out = append(out, string(id))
	}
	return knowledge.Whole().Without(ids...).WithoutReaders(deaf...), append(out, deaf...)
}

// escapes are what a terminal obeys.
var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

func plain(line string) string { return escapes.ReplaceAllString(strings.TrimRight(line, "\r"), "") }

// linesOf reads files once, line by line.
func linesOf(sources []incident.Source) func(name string) []string {
	read := map[string][]string{}
	return func(name string) []string {
		if lines, ok := read[name]; ok {
			return lines
		}
		i := slices.IndexFunc(sources, func(s incident.Source) bool { return s.Name == name })
		if i >= 0 {
			if b, err := os.ReadFile(sources[i].Path); err == nil { // a file that cannot be read was cited by nothing
				read[name] = strings.Split(string(b), "\n")
			}
		}
		return read[name]
	}
}

// leastLetters is how many letters of a line in a row show that it is quoted.
const leastLetters = 20

// quoted says that a first screen shows one of the lines: its place, or enough of its words.
func quoted(screen string, r *incident.Report, sources []incident.Source, key []incident.Evidence) bool {
	shown := letters(screen)
	texts := linesOf(sources)
	for _, k := range key {
		if k.Line > 0 && strings.Contains(screen, fmt.Sprintf("%s:%d", k.File, k.Line)) {
			return true
		}
		for _, s := range r.Standouts {
			if slices.ContainsFunc(s.Evidence, func(e incident.Evidence) bool { return e.File == k.File && e.Line == k.Line }) {
				return true
			}
		}
		text := k.Text
		if all := texts(k.File); k.Line > 0 && int(k.Line) <= len(all) {
			text = all[k.Line-1]
		}
		words := letters(spoken(plain(text)))
		n := min(leastLetters, len(words)*6/10)
		for i := 0; n > 4 && i+n <= len(words); i++ {
			if strings.Contains(shown, words[i:i+n]) {
				return true
			}
		}
	}
	return false
}

// header is within how many bytes of a line what loggers print before its message ends.
const header = 160

// spoken is a line without the brackets that PyTorch, NCCL and launchers print before it: they are the same on lines that say something else.
func spoken(line string) string {
	if i := strings.LastIndex(line[:min(len(line), header)], "] "); i >= 0 && strings.HasPrefix(strings.TrimLeft(line, "0123456789: "), "[") {
		return line[i+2:]
	}
	return line
}

// letters is a text without all that is no letter.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// placed says whether the rank or node that is named today is named again; nil where none or several are, and where neither the key lines nor
// their files tell it: then what told it is among what was left out. Where they tell the node alone, the node is enough.
func placed(today *incident.Verdict, then *incident.Report, screen string, sources []incident.Source, key []incident.Evidence) *bool {
	root, texts := &then.Verdict.Root, linesOf(sources)
	if len(today.Root.Ranks) == 1 {
		n := today.Root.Ranks[0]
		ok := slices.Equal(root.Ranks, today.Root.Ranks) || rankIn(screen, n)
		told := slices.ContainsFunc(key, func(k incident.Evidence) bool {
			all := texts(k.File)
			return rankIn(k.File, n) || k.Line > 0 && int(k.Line) <= len(all) && rankIn(plain(all[k.Line-1]), n)
		})
		if ok || told {
			return &ok
		}
	}
	if len(today.Root.Nodes) != 1 {
		return nil
	}
	node := today.Root.Nodes[0]
	ok := slices.Equal(root.Nodes, today.Root.Nodes) || strings.Contains(screen, node)
	told := slices.ContainsFunc(key, func(k incident.Evidence) bool {
		return slices.ContainsFunc(texts(k.File), func(l string) bool { return strings.Contains(l, node) })
	})
	if !ok && !told {
		return nil
	}
	return &ok
}

// rankIn says that a text names a rank: "rank 7", "[rank7]", "rank_7.log", "rank      : 7".
func rankIn(text string, rank int) bool {
	return regexp.MustCompile(fmt.Sprintf(`(?i)\brank[ _=:]*%d(?:\D|$)`, rank)).MatchString(text)
}

// seedOf is a number that belongs to a case.
func seedOf(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

// bury copies logs into a folder, below lines of healthy noise where the case has few of its own. What is no text stays as it is.
func bury(sources []incident.Source, dir string, seed uint64) ([]incident.Source, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("burying logs: %w", bare(err))
	}
	contents, lines := make([][]byte, len(sources)), 0
	for i, s := range sources {
		b, err := os.ReadFile(s.Path)
		if err != nil {
			return nil, fmt.Errorf("burying %s: %w", s.Name, bare(err))
		}
		contents[i] = b
		lines += bytes.Count(b, []byte("\n"))
	}
	out := slices.Clone(sources)
	if lines >= buried || len(sources) == 0 {
		return out, nil
	}
	each := (buried-lines)/len(sources) + 1
	for i := range out {
		if !text(contents[i]) {
			continue
		}
		noise := strings.Join(simulate.Noise(each, seed+uint64(i)), "\n") + "\n"
		if err := rewrite(&out[i], dir, i, append([]byte(noise), contents[i]...)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// text says that a file is one of lines.
func text(b []byte) bool {
	head := b[:min(len(b), 4096)]
	return !bytes.Contains(head, []byte{0}) && bytes.Contains(head, []byte("\n")) && !bytes.HasPrefix(head, []byte{0x1f, 0x8b})
}

// rewrite gives a source another content, under the same name.
func rewrite(s *incident.Source, dir string, i int, b []byte) error {
	s.Path, s.Bytes, s.SHA256 = filepath.Join(dir, fmt.Sprint(i)), int64(len(b)), ""
	if err := os.WriteFile(s.Path, b, 0o600); err != nil {
		return fmt.Errorf("rewriting %s: %w", s.Name, bare(err))
	}
	return nil
}
