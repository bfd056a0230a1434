package analysis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"faultline/analysis/artifact/accounting"
	"faultline/analysis/filename"
	"faultline/analysis/scan"
	"faultline/incident"
)

// selectJob keeps the sources of one job. Files whose name states no job belong to every job: a batch script's output
// may be called anything. Ids of array elements ("4242_3") and their runs are jobs of their own.
//
// It also returns the id: the only one that the names state, where none was asked for. Names may hold several ids of one job,
// which SLURM's records know to be one.
func selectJob(sources []incident.Source, id string, book *accounting.Book) ([]incident.Source, string, error) {
	known := map[string]string{} // there are far more files than jobs
	canonical := func(id string) string {
		c, ok := known[id]
		if !ok {
			c = book.Canonical(id)
			known[id] = c
		}
		return c
	}
	id = canonical(id)
	parsed := filename.Parse(namesOf(sources))
	files := map[string]int{}
	for _, s := range sources {
		if n, ok := parsed[s.Name]; ok && n.Job != "" {
			files[canonical(n.Job)]++
		}
	}
	if len(files) == 0 {
		return sources, id, nil
	}
	if id == "" && len(files) == 1 {
		for only := range files {
			return sources, only, nil
		}
	}
	if id == "" || files[id] == 0 {
		several := &MultipleJobsError{Asked: id}
		for j, n := range files {
			several.Jobs = append(several.Jobs, JobSummary{ID: j, Files: n})
		}
		sort.Slice(several.Jobs, func(i, j int) bool {
			a, b := several.Jobs[i].ID, several.Jobs[j].ID
			return len(a) < len(b) || len(a) == len(b) && a < b
		})
		return nil, "", several
	}
	var out []incident.Source
	for _, s := range sources {
		if n := parsed[s.Name]; n.Job == "" || canonical(n.Job) == id {
			out = append(out, s)
		}
	}
	return out, id, nil
}

// describe adds to each of several jobs, the newest where they are many, when its logs end and which nodes it ran on, as a person
// needs to choose. Of each job only the files are read that its id names, with SLURM's records of all.
func describe(ctx context.Context, several *MultipleJobsError, in Input) error {
	jobs := several.Newest()
	of := make(map[string]int, len(jobs))
	for i := range jobs {
		of[jobs[i].ID] = i
	}
	files := make([][]incident.Source, len(jobs))
	parsed := filename.Parse(namesOf(in.Sources))
	for _, s := range in.Sources {
		if i, ok := of[in.book.Canonical(parsed[s.Name].Job)]; ok && parsed[s.Name].Job != "" {
			files[i] = append(files[i], s)
		}
	}
	for i := range jobs {
		r, err := Diagnose(ctx, Input{Sources: append(files[i], in.records...), JobID: jobs[i].ID, JobZone: in.JobZone,
			Workers: in.Workers, Skim: in.Skim, Unhashed: true, Known: in.Known, Opener: in.Opener})
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		if r.Job.EndTime != nil {
			jobs[i].End = *r.Job.EndTime
		}
		jobs[i].Nodes = r.Coverage.NodesSeen
	}
	return several
}

func namesOf(sources []incident.Source) []string {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name
	}
	return names
}

// hashCited names the content of every file that the report cites, so that a reader years later knows that it is the
// same file. Files that are not cited are not hashed: a directory may hold hundreds of gigabytes. sums are the hashes that
// the verifier took, of all files that are to have one.
func hashCited(ctx context.Context, from scan.Opener, sources []incident.Source, sums map[string]string, r *incident.Report) error {
	cited := map[string]bool{}
	eachEvidence(r, func(e *incident.Evidence) {
		if e.File != "" {
			cited[e.File] = true
		}
	})
	r.Sources = []incident.Source{}
	for _, s := range sources {
		if cited[s.Name] {
			r.Sources = append(r.Sources, s)
		}
	}
	slices.SortFunc(r.Sources, func(a, b incident.Source) int { return strings.Compare(a.Name, b.Name) })
	return each(len(r.Sources), func(i int) error {
		s := &r.Sources[i]
		sum, asked := sums[s.Name]
		if s.SHA256 = sum; sum != "" || !asked {
			return nil
		}
		sum, err := hashFile(ctx, from, s.Path)
		if err != nil {
			return fmt.Errorf("hash %s: %w", s.Name, plain(err))
		}
		s.SHA256 = sum
		return nil
	})
}

func hashFile(ctx context.Context, from scan.Opener, path string) (string, error) {
	f, err := from.Raw(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, readerWith(ctx, f)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// readerWith ends a long read when the context ends.
func readerWith(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
