package eval

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/messages"
	"faultline/simulate"
)

// parcel is one case of a freeze: the files of its folder, in memory, so that the case is the same wherever it is run.
type parcel struct {
	name  string
	files []member
	// report is what the engine made of the case when it was frozen; nil before.
	report []byte
}

// member is a file of a case. Its name is relative to the case's folder: logs/rank_0.log.
type member struct {
	name string
	data []byte
}

// batch is a named set of cases, read one at a time.
type batch struct {
	name string
	size int
	read func(i int) (parcel, error)
}

// folders makes a batch of a folder of cases, or of raw captures where no folder in it states an answer.
func folders(dir string) (batch, error) {
	name := filepath.Base(filepath.Clean(dir))
	found, err := discover([]string{dir})
	if err != nil {
		return captures(name, dir)
	}
	return batch{name, len(found), func(i int) (parcel, error) {
		files, err := caseFiles(found[i])
		return parcel{name: filepath.Base(found[i]), files: files}, err
	}}, nil
}

// captures makes a case of every folder below dir, with all that lies below it, and of every file that lies beside folders. What a
// capture means is the engine's to find out, as if a person had named that path.
func captures(name, dir string) (batch, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		if d.IsDir() || d.Type().IsRegular() && besideFolders(p) {
			paths = append(paths, p)
		}
		return nil
	})
	if err == nil && len(paths) == 0 {
		err = errors.New("it holds neither cases nor captures")
	}
	if err != nil {
		return batch{}, fmt.Errorf("looking for captures in %s: %w", name, bare(err))
	}
	return batch{name, len(paths), func(i int) (parcel, error) {
		rel, err := filepath.Rel(dir, paths[i])
		if err != nil {
			return parcel{}, err
		}
		p := parcel{name: strings.ReplaceAll(filepath.ToSlash(rel), "/", "_")}
		p.files, err = contents(paths[i], logsDir)
		id, _ := json.Marshal(map[string]string{"id": p.name})
		p.files = append([]member{{answer, id}}, p.files...)
		return p, err
	}}, nil
}

func besideFolders(file string) bool {
	all, err := os.ReadDir(filepath.Dir(file))
	return err == nil && slices.ContainsFunc(all, func(e fs.DirEntry) bool { return e.IsDir() })
}

// caseFiles reads what load reads of a case's folder. Anything else there might bear the name of the frozen report.
func caseFiles(dir string) ([]member, error) {
	all, err := contents(dir, "")
	return slices.DeleteFunc(all, func(m member) bool {
		top, _, _ := strings.Cut(m.name, "/")
		return !slices.Contains([]string{answer, logsDir, evidenceDir, storageDir}, top)
	}), err
}

// contents reads the regular files below root, or root itself where it is a file.
func contents(root, prefix string) ([]member, error) {
	list, err := sources(root, prefix)
	if err != nil {
		return nil, bare(err)
	}
	var out []member
	for _, s := range list {
		data, err := os.ReadFile(s.Path)
		if err != nil {
			return nil, bare(err)
		}
		if s.Path == root {
			s.Name = path.Join(prefix, filepath.Base(root))
		}
		out = append(out, member{s.Name, data})
	}
	return out, nil
}

// played makes a batch of simulated incidents.
func played(name string, specs []simulate.Spec) batch {
	return batch{name, len(specs), func(i int) (p parcel, err error) {
		inc, err := simulate.Generate(specs[i])
		if err != nil {
			return p, fmt.Errorf("simulating: %w", err)
		}
		dir, err := os.MkdirTemp("", "faultline-case-")
		if err != nil {
			return p, fmt.Errorf("making a temporary directory: %w", err)
		}
		defer os.RemoveAll(dir)
		if err := simulate.Write(dir, inc); err != nil {
			return p, err
		}
		p.name = inc.ID
		p.files, err = caseFiles(filepath.Join(dir, inc.ID))
		return p, err
	}}
}

// diagnosed unpacks a case, runs the engine on it and returns what people are shown: the report and the terminal's text. The engine's
// version is left out: it changes with every commit.
func (p *parcel) diagnosed(ctx context.Context, diagnose Diagnose) ([]byte, error) {
	temp, err := os.MkdirTemp("", "faultline-case-")
	if err != nil {
		return nil, fmt.Errorf("making a temporary directory: %w", err)
	}
	defer os.RemoveAll(temp)
	dir := filepath.Join(temp, p.name)
	if err := p.unpack(dir); err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", p.name, err)
	}
	_, in, err := load(dir, func() (string, error) { return temp, nil })
	var r *incident.Report
	if err == nil {
		r, err = protected(ctx, in, diagnose)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil { // no report is an outcome as well
		return json.Marshal(outcome{Error: strings.ReplaceAll(err.Error(), temp, "")})
	}
	r.Engine = incident.Engine{}
	var report, text bytes.Buffer
	if err := errors.Join(messages.JSON(&report, r), messages.Terminal(&text, r, messages.Style{Width: unwrapped})); err != nil {
		return nil, fmt.Errorf("the report of %s: %w", p.name, err)
	}
	return json.Marshal(outcome{Report: report.Bytes(), Terminal: strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n"), Trail: append([]string{}, r.Trail...), Denied: Contradictions(r)})
}

// unwrapped is a width at which a longer sentence moves no line break.
const unwrapped = 1 << 16

// outcome is what is frozen of a case.
type outcome struct {
	Error    string          `json:"error,omitempty"`
	Report   json.RawMessage `json:"report,omitempty"`
	Terminal []string        `json:"terminal,omitempty"`
	// Denied are the places where the report disagrees with itself.
	Denied []string `json:"contradictions,omitempty"`
	Trail  []string `json:"trail"` // null in what was frozen before there were trails: those are not compared
}

func (p *parcel) unpack(dir string) error {
	for _, f := range p.files {
		if !filepath.IsLocal(f.name) {
			return fmt.Errorf("%q leads out of the case", f.name)
		}
		to := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return bare(err)
		}
		if err := os.WriteFile(to, f.data, 0o600); err != nil {
			return bare(err)
		}
	}
	return nil
}

// The members of a frozen batch that are no files of a case: how many cases follow, and the report behind each case.
const (
	sizeMember   = "size"
	reportMember = "report.json"
)

// put writes a case and its report.
func (p *parcel) put(w *tar.Writer) error {
	for _, f := range append(slices.Clip(p.files), member{reportMember, p.report}) {
		if err := put(w, path.Join(p.name, f.name), f.data); err != nil {
			return err
		}
	}
	return nil
}

func put(w *tar.Writer, name string, data []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// unfrozen reads the cases of a frozen batch in their order. Those that are not wanted are passed over unread.
type unfrozen struct {
	r    *tar.Reader
	size int
	next int
}

func thaw(r io.Reader) (*unfrozen, error) {
	u := &unfrozen{r: tar.NewReader(r)}
	h, err := u.r.Next()
	if err == nil && h.Name != sizeMember {
		err = errors.New("it does not begin with its size")
	}
	if err == nil {
		_, err = fmt.Fscan(u.r, &u.size)
	}
	return u, err
}

// parcel returns the next wanted case, and io.EOF behind the last one.
func (u *unfrozen) parcel(wanted func(i int) bool) (parcel, error) {
	var p parcel
	for {
		h, err := u.r.Next()
		if err != nil {
			return p, err
		}
		name, file, ok := strings.Cut(h.Name, "/")
		if !ok {
			return p, fmt.Errorf("%q belongs to no case", h.Name)
		}
		last := file == reportMember
		if wanted(u.next) {
			data, err := io.ReadAll(u.r)
			if err != nil {
				return p, err
			}
			if p.name = name; last {
				p.report = data
				u.next++
				return p, nil
			}
			p.files = append(p.files, member{file, data})
		} else if last {
			u.next++
		}
	}
}
