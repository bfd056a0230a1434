package messages

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"faultline/incident"
)

// sampled says that a run plays a sample of what takes long; FAULTLINE_FULL=1 plays all of it, as CI does.
func sampled() bool { return testing.Short() || os.Getenv("FAULTLINE_FULL") == "" }

// allVictims is one rank out of memory and 16,383 that went down with it, each with a note of its own.
func allVictims() *incident.Report {
	r := big()
	r.Groups = nil
	for i := range r.Ranks {
		r.Ranks[i].Role = incident.Victim
		r.Ranks[i].Note = fmt.Sprintf("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %d.50 GiB. GPU 0 has a total capacity of 79.10 GiB of which %d.31 MiB is free.", i%40, i)
	}
	r.Ranks[9999].Role = incident.FirstFailure
	return r
}

// manyGroups is a hang of 16,384 ranks in 4,096 groups, no two of whose members have the same counters.
func manyGroups() *incident.Report {
	r := big()
	r.Groups = nil
	for g := range 4096 {
		out := incident.Group{Key: fmt.Sprint(g), GUID: fmt.Sprint(g), Desc: "TENSOR_MODEL_PARALLEL_GROUP", Size: ptr(8), MembershipBasis: "topology",
			Stuck: &incident.Stuck{Seq: int64(1000 + g), Op: "ALLREDUCE"}}
		for i := range 8 {
			rank := (g*4 + i*2049) % 16384
			out.Ranks = append(out.Ranks, incident.GroupMember{Rank: ptr(rank), GroupRank: ptr(i), Node: fmt.Sprintf("node%d", rank/8), Role: incident.Waiter,
				Enqueued: ptr(int64(1000 + g + i)), Completed: ptr(int64(999 + g))})
		}
		r.Groups = append(r.Groups, out)
	}
	return r
}

// gaps has every other rank and node missing: no range sums them up.
func gaps() *incident.Report {
	r := big()
	r.Verdict.Status, r.Verdict.Root = incident.Inconclusive, incident.Root{}
	for i := range r.Ranks {
		if i/8%2 == 0 {
			r.Ranks[i].Role = incident.Missing
			r.Coverage.RanksMissing = append(r.Coverage.RanksMissing, i)
			r.Verdict.Root.Frontier = append(r.Verdict.Root.Frontier, i)
		}
	}
	for n := range 1024 {
		r.Coverage.NodesMissing = append(r.Coverage.NodesMissing, fmt.Sprintf("node%d", 2*n))
		r.Coverage.FilesMissing = append(r.Coverage.FilesMissing, fmt.Sprintf("error-4242-%d.out", 2*n))
		r.Coverage.Truncated = append(r.Coverage.Truncated, incident.CutFile{File: fmt.Sprintf("error-4242-%d.out", 2*n+1), How: "truncated-early"})
	}
	return r
}

var largeReports = map[string]func() *incident.Report{"one rank held all": big, "all are victims": allVictims, "thousands of groups": manyGroups, "half is missing": gaps}

// What people read of 16,384 ranks is aggregated: it is as long as for a hundred.
func TestReportsOfLargeJobsAreReadable(t *testing.T) {
	for name, report := range largeReports {
		if sampled() && name != "all are victims" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := report()
			for _, f := range formats {
				text := render(t, f, r)
				switch f.ext {
				case "html":
					if len(text) > 5<<20 {
						t.Errorf("the page has %d bytes", len(text))
					}
					if cells := strings.Count(text, `<i class="c `); cells > 2100 {
						t.Errorf("the page draws %d cells before anybody asks", cells)
					}
				case "txt":
					if n := strings.Count(text, "\n"); n > 400 {
						t.Errorf("%d lines in the terminal", n)
					}
				case "md":
					if len(text) > 64<<10 {
						t.Errorf("%d bytes of Markdown", len(text))
					}
				}
				if f.ext == "json" || f.ext == "html" {
					continue
				}
				for i, line := range strings.Split(text, "\n") {
					if len(line) > 4000 {
						t.Errorf("%s: line %d has %d bytes", f.ext, i+1, len(line))
					}
				}
			}
			for what, m := range thread(r) {
				checkPayload(t, name+", "+what, m)
			}
			if n := len(FirstScreen(r, 100)); n > 12 {
				t.Errorf("the first screen has %d lines", n)
			}
			checkPayload(t, name+", the case", CaseFile(someCase(r)))
		})
	}
}

// The page's script finds every rank of a large job, and every group, in the data that the page holds for it.
func TestThePageOfALargeJobHoldsWhatItsScriptDraws(t *testing.T) {
	for name, report := range largeReports {
		if sampled() && name != "thousands of groups" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := report()
			var page string
			for _, f := range formats {
				if f.ext == "html" {
					page = render(t, f, r)
				}
			}
			_, data, ok := strings.Cut(page, `<script type="application/json" id="data">`)
			data, _, closed := strings.Cut(data, "</script>")
			if !ok || !closed {
				t.Fatal("no data")
			}
			var got struct {
				Block  int
				Looks  [][2]string
				Notes  []string
				Nodes  []struct{ R [][4]int }
				Groups [][][6]string
				Titles [][2]string
			}
			if err := json.Unmarshal([]byte(data), &got); err != nil {
				t.Fatal(err)
			}
			role := map[int]string{}
			for _, n := range got.Nodes {
				for _, x := range n.R {
					if x[2] >= len(got.Notes) || x[1] >= len(got.Looks) {
						t.Fatalf("rank %d points beyond the tables: %v", x[0], x)
					}
					role[x[0]] = looks[x[1]].Role
				}
			}
			for _, s := range r.Ranks {
				if role[s.Rank] != s.Role {
					t.Fatalf("rank %d is %q, want %q", s.Rank, role[s.Rank], s.Role)
				}
			}
			if want := max(0, len(r.Groups)-htmlGroups); len(got.Groups) != want || len(got.Titles) != want {
				t.Errorf("%d groups with %d titles, want %d", len(got.Groups), len(got.Titles), want)
			}
		})
	}
}

func TestASmallJobsPageHoldsNoData(t *testing.T) {
	for _, f := range formats {
		if text := render(t, f, stall()); f.ext == "html" && strings.Contains(text, "application/json") {
			t.Error("every rank and group stands in the page already")
		}
	}
}
