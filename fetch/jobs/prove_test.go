package jobs

import (
	"strings"
	"testing"
)

func TestNamesAreProvenOnAJob(t *testing.T) {
	b := newBench(t)
	b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node[01-04]", 0)}
	b.put(t, "run/err-7-0.txt", "run/err-7-1.txt", "run/err-7-2.txt", "run/err-7-3.txt", "run/out-7-0.txt", "run/out-7-3.txt", "run/job-7.txt", "slurm-7.out")
	for name, c := range map[string]struct {
		templates []string
		complete  bool
		files     int
		says      string
	}{
		"all":              {[]string{"run/err-%j-%n.txt"}, true, 4, "run/err-%j-%n.txt: 4 of 4 nodes, 4 files"},
		"one for the job":  {[]string{"run/job-%j.txt"}, true, 1, "run/job-%j.txt: 1 file (job-7.txt)"},
		"absolute":         {[]string{b.logs + "/run/err-{job}-%n.txt"}, true, 4, "4 of 4 nodes"},
		"some":             {[]string{"run/out-%j-%n.txt"}, false, 2, "2 of 4 nodes, missing node02 (index 1), node03 (index 2)"},
		"two, one of none": {[]string{"run/err-%j-%n.txt", "run/gone-%j-%n.txt"}, false, 4, "run/gone-%j-%n.txt: found nothing; "},
		"nothing":          {[]string{"logs/err-%j.txt"}, false, 0, "logs/err-%j.txt: found nothing; there is no file called " + b.logs + "/logs/err-%j.txt"},
		"outside":          {[]string{"/etc/passwd-%j"}, false, 0, "outside the directories I may read"},
		"not told":         {[]string{"{nonsense}/%j"}, false, 0, "found nothing"},
		"their own words":  {[]string{"slurm-%j.out"}, true, 1, "slurm-7.out"},
	} {
		got, err := b.Prove(ctx, "west", "7", c.templates)
		if err != nil || got.Complete != c.complete || got.Files != c.files || !strings.Contains(strings.Join(got.Says, "\n"), c.says) || got.Job != "7" || got.Users[0] != b.user {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	for job, want := range map[string]string{"8": "doesn't know job 8", "x": "not a job ID"} {
		b.west.rows = nil
		if _, err := b.Prove(ctx, "west", job, []string{"%j"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", job, err)
		}
	}
	if _, err := b.Prove(ctx, "east", "7", []string{"%j"}); err == nil {
		t.Error("a cluster that nobody knows")
	}
}

func TestATeamsNamesComeBeforeTheConfigurations(t *testing.T) {
	b := newBench(t)
	b.west.script = ""
	b.Clusters[0].Templates = []string{"conf/err-%j-%n.txt"}
	b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node[01-02]", 0)}
	b.put(t, "team/err-7-0.txt", "team/err-7-1.txt", "conf/err-7-0.txt", "conf/err-7-1.txt")
	mine := b.With(map[string][]string{"west": {"team/err-%j-%n.txt"}})
	for name, c := range map[string]struct {
		f    *Fetcher
		want string
	}{
		"with":    {mine, "conf/err-7-0.txt conf/err-7-1.txt slurm-accounting.txt team/err-7-0.txt team/err-7-1.txt"},
		"without": {b.Fetcher, "err-7-0.txt err-7-1.txt slurm-accounting.txt"},
		"none":    {b.With(nil), "err-7-0.txt err-7-1.txt slurm-accounting.txt"},
	} {
		found, err := c.f.Locate(ctx, "west", "7")
		if err != nil || len(found.Places) != 1 {
			t.Fatalf("%s: %+v %v", name, found, err)
		}
		got, err := c.f.Collect(ctx, found.Places)
		if err != nil || names(got) != c.want {
			t.Errorf("%s: %s %v", name, names(got), err)
		}
	}
}
