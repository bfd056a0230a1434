package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/incident"
	"faultline/messages"
	"faultline/messages/redact"
	"faultline/workflow"
)

// Manifest is manifest.json: what is in the zip, and what should be and is not.
type Manifest struct {
	Schema  string    `json:"schema"`
	Files   []Item    `json:"files"` // sorted by path; all but manifest.json itself
	Missing []Missing `json:"missing"`
}

// Item is one file of the zip.
type Item struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Raw is the log that an evidence file was made of.
	Raw  *Raw   `json:"raw,omitempty"`
	Note string `json:"note,omitempty"`
}

// Raw is a log as it lay on the disk at the time of the export.
type Raw struct {
	Name   string `json:"name"` // as the report cites it
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Unchanged compares with the hash in the report: null where that holds none.
	Unchanged *bool `json:"unchanged"`
}

// Missing is what should be in the zip.
type Missing struct {
	Path string `json:"path"`
	Name string `json:"name"`
	Why  string `json:"why"`
}

// epoch is the time of every file in a zip: the earliest that the format knows.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Write writes the whole incident as a zip. Missing parts are named in its manifest and in the result; an error means that
// the zip is not whole.
func Write(ctx context.Context, w io.Writer, src Source, id string) (Manifest, error) {
	inc, err := Read(ctx, src, id)
	if err != nil {
		return Manifest{}, err
	}
	return inc.Zip(ctx, w, src)
}

// Zip is Write for an incident that was read.
func (inc *Incident) Zip(ctx context.Context, w io.Writer, src Source) (Manifest, error) {
	p := &packer{ctx: ctx, src: src, zip: zip.NewWriter(w), limit: maxLog}
	p.manifest = Manifest{Schema: Schema, Files: []Item{}, Missing: []Missing{}}
	for _, add := range []func(*Incident) error{p.attachments, p.evidence, p.trail, p.report} {
		if err := errors.Join(ctx.Err(), add(inc)); err != nil {
			return p.manifest, fmt.Errorf("writing incident %s as a zip: %w", inc.Investigation.ID, err)
		}
	}
	slices.SortFunc(p.manifest.Files, func(a, b Item) int { return strings.Compare(a.Path, b.Path) })
	err := p.file("manifest.json", nil, func(w io.Writer) error { return encode(w, p.manifest) })
	if err = errors.Join(err, p.zip.Close()); err != nil {
		return p.manifest, fmt.Errorf("writing incident %s as a zip: %w", inc.Investigation.ID, err)
	}
	return p.manifest, nil
}

func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

type packer struct {
	ctx      context.Context // of the one call of Zip
	src      Source
	zip      *zip.Writer
	manifest Manifest
	used     map[string]bool
	limit    int64 // of one log
}

// file adds one file; raw belongs to the manifest and may be filled by write.
func (p *packer) file(name string, raw *Raw, write func(io.Writer) error) error {
	w, err := p.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: epoch})
	if err != nil {
		return err
	}
	sum := &summed{w: w, hash: sha256.New()}
	err = write(sum)
	item := Item{Path: name, Bytes: sum.n, SHA256: sum.hex(), Raw: raw}
	var partial *partialError
	if errors.As(err, &partial) {
		item.Note, err = partial.Error(), nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.manifest.Files = append(p.manifest.Files, item)
	return nil
}

func (p *packer) missing(name, of, why string) {
	p.manifest.Missing = append(p.manifest.Missing, Missing{Path: name, Name: redact.String(of), Why: redact.String(why)})
}

// partialError says why a file of the zip holds less than it should.
type partialError struct{ why string }

func (e *partialError) Error() string { return e.why }

// attachments are the files of posts, as they were posted: every version of the report is among them.
func (p *packer) attachments(inc *Incident) error {
	for _, post := range inc.posts {
		for _, f := range post.Files {
			key := post.Key
			if key == "" {
				key = "post-" + strconv.FormatInt(post.ID, 10)
			}
			name := p.name("attachments", key+"/"+f.Name)
			in, err := p.blob(f.Blob)
			if err != nil {
				p.missing(name, f.Name, err.Error())
				continue
			}
			err = p.file(name, nil, func(w io.Writer) error { return partly(io.Copy(w, in)) })
			if err := errors.Join(err, in.Close()); err != nil {
				return err
			}
			if item := &p.manifest.Files[len(p.manifest.Files)-1]; item.Note == "" {
				item.Note = superseded(inc.snapshot, post.Key)
			}
		}
	}
	return nil
}

// superseded says that what was posted under a key is of a verdict that does not hold any more; "" where it does. Keys end with the
// number of the verdict: "final-2", "map-1".
func superseded(inv workflow.Investigation, key string) string {
	name, number, ok := strings.Cut(key, "-")
	number, again, _ := strings.Cut(number, "-")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || name != "final" && name != "map" {
		return ""
	}
	switch {
	case n < inv.Verdicts:
		return fmt.Sprintf("superseded: it belongs to verdict %d of %d", n, inv.Verdicts)
	case name == "final" && again != strconv.Itoa(inv.Refiled) && inv.Refiled > 0:
		return "superseded: the verdict stands, and newer files have more detail"
	case inv.Told != "" && slices.Contains(inv.Superseded, inv.Told):
		return "superseded: its verdict is disputed or no longer holds"
	}
	return ""
}

func (p *packer) blob(key string) (io.ReadCloser, error) {
	if p.src.Blobs == nil {
		return nil, errors.New("the attachment store isn't open")
	}
	in, err := p.src.Blobs.Open(p.ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("it is no longer in the attachment store")
	}
	return in, err
}

// partly turns a failed reading into a remark: what was read is worth keeping.
func partly(_ int64, err error) error {
	var broken *writeError
	if err == nil || errors.As(err, &broken) {
		return err
	}
	return &partialError{"cut: " + reason(err)}
}

// evidence are the logs that the newest report cites.
func (p *packer) evidence(inc *Incident) error {
	inv := inc.snapshot
	if inv.Report == nil {
		return nil
	}
	paths, sizes := map[string]string{}, map[string]int64{}
	for _, s := range inv.Everything() {
		paths[s.Name], sizes[s.Name] = s.Path, s.Bytes
	}
	cited := slices.Clone(inv.Report.Sources)
	slices.SortFunc(cited, func(a, b incident.Source) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range cited {
		if done, err := p.raw(s, paths[s.Name]); err != nil {
			return err
		} else if done {
			continue
		}
		name := s.Name
		if ext := path.Ext(name); ext == ".gz" || ext == ".zst" {
			name += ".txt" // here it is unpacked
		}
		name = p.name("evidence", name)
		if err := p.log(name, s, paths[s.Name]); err != nil {
			return err
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// raw adds a log as it is stored, where that was asked for and may be.
func (p *packer) raw(s incident.Source, file string) (bool, error) {
	if p.src.Raw == nil || file == "" {
		return false, nil
	}
	f, err := p.src.open(file)
	if err != nil {
		return false, nil // log says what is missing, and why
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !p.src.Raw(file, info) {
		return false, nil // it goes in masked
	}
	return true, p.file(p.name("raw", s.Name), nil, func(w io.Writer) error {
		n, err := io.Copy(w, io.LimitReader(f, p.limit))
		if err := partly(n, err); err != nil {
			return err
		}
		why := "as stored: secrets in it are not masked"
		if info.Size() > p.limit {
			why = fmt.Sprintf("cut after %d bytes; %s", p.limit, why)
		}
		return &partialError{why}
	})
}

func (p *packer) log(name string, s incident.Source, file string) error {
	if file == "" {
		p.missing(name, s.Name, "its location is unknown")
		return nil
	}
	raw, err := p.src.hashFile(file)
	if err != nil {
		p.missing(name, s.Name, reason(err))
		return nil
	}
	raw.Name = redact.String(s.Name)
	if s.SHA256 != "" {
		same := s.SHA256 == raw.SHA256
		raw.Unchanged = &same
	}
	in, err := p.src.openLog(file)
	if err != nil {
		p.missing(name, s.Name, reason(err))
		return nil
	}
	defer in.Close()
	return p.file(name, raw, func(w io.Writer) error {
		err := redactLog(w, in, p.limit)
		var broken *writeError
		switch {
		case err == nil && raw.Unchanged != nil && !*raw.Unchanged:
			return &partialError{"the log has changed since the report was made"}
		case err == nil || errors.As(err, &broken):
			return err
		}
		return &partialError{reason(err)}
	})
}

// reason is an error in words, without the path that it is about: the manifest is handed on, and names files as the report does.
func reason(err error) string {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the file no longer exists"
	case errors.Is(err, fs.ErrPermission):
		return "no permission to read the file"
	case errors.As(err, &p):
		return redact.String(p.Err.Error())
	}
	return redact.String(err.Error())
}

func (s Source) hashFile(file string) (*Raw, error) {
	f, err := s.open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it isn't a regular file"))
	}
	sum := &summed{w: io.Discard, hash: sha256.New()}
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	return &Raw{Bytes: sum.n, SHA256: sum.hex()}, nil
}

func (p *packer) trail(inc *Incident) error {
	return errors.Join(p.file("incident.json", nil, inc.JSON), p.file("incident.md", nil, inc.Markdown))
}

// report is the newest verdict in every form; the versions that were posted before are among the attachments.
func (p *packer) report(inc *Incident) error {
	r := inc.snapshot.Report
	if r == nil {
		return nil
	}
	var errs []error
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"postmortem.html", func(w io.Writer) error { return inc.Postmortem(w, true) }},
		{"postmortem.md", func(w io.Writer) error { return inc.Postmortem(w, false) }},
		{"report.html", func(w io.Writer) error { return messages.HTML(w, r, messages.Extras{}) }},
		{"report.json", func(w io.Writer) error { return messages.JSON(w, r) }},
		{"report.md", func(w io.Writer) error { return messages.Markdown(w, r) }},
	} {
		var b bytes.Buffer // a template writes in small pieces
		if err := f.write(&b); err != nil {
			return err
		}
		errs = append(errs, p.file("report/"+f.name, nil, func(w io.Writer) error { _, err := b.WriteTo(w); return err }))
	}
	return errors.Join(errs...)
}

// name makes a path in the zip that cannot climb out of its folder, says no secret, and is used once.
func (p *packer) name(folder, name string) string {
	if p.used == nil {
		p.used = map[string]bool{}
	}
	parts := strings.Split(strings.ReplaceAll(redact.String(name), `\`, "/"), "/")
	var safe []string
	for _, part := range parts {
		part = strings.Map(func(r rune) rune {
			if r < 0x20 || r == 0x7f || strings.ContainsRune(`<>:"|?*`, r) {
				return '_'
			}
			return r
		}, part)
		if part = strings.Trim(part, " "); part != "" && strings.Trim(part, ".") != "" {
			safe = append(safe, part)
		}
	}
	if len(safe) == 0 {
		safe = []string{"file"}
	}
	base := folder + "/" + strings.Join(safe, "/")
	full := base
	for n := 2; p.used[full]; n++ {
		full = fmt.Sprintf("%s (%d)", base, n)
	}
	p.used[full] = true
	return full
}

// summed counts and hashes what is written.
type summed struct {
	w    io.Writer
	hash hash.Hash
	n    int64
}

// writeError is an error of the zip, not of what goes into it.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

func (s *summed) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.n += int64(n)
	s.hash.Write(b[:n])
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

func (s *summed) hex() string { return hex.EncodeToString(s.hash.Sum(nil)) }
