package mechanism

import (
	"slices"
	"strings"
	"testing"

	"faultline/analysis/artifact/accounting"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

func TestNeedsOfASet(t *testing.T) {
	hang := []knowledge.Slug{"rank-stalled", "collective-hang", "gpu-hang"}
	written := worker.Sign{ID: "recorder-written", Text: "Finished writing Flight Recorder debug info to /local/fr/trace_3"}
	alive := &resolve.Accounting{Jobs: []*accounting.Record{{Job: "7", State: "RUNNING"}}}
	rank := func(id int, recorded bool) *resolve.Rank {
		r := &resolve.Rank{ID: id, Node: "node1"}
		if recorded {
			r.Recorded = &resolve.Recorded{}
		}
		return r
	}
	for _, tt := range []struct {
		name  string
		facts resolve.Facts
		set   []knowledge.Slug
		wants []incident.Need
		want  []string // artefact or what, and when
		says  string   // stands in the first command
	}{
		{"nothing is known of a recorder", resolve.Facts{}, hang, []incident.Need{needPySpy, needFR, needWorld},
			[]string{"kernel perishing", "the world size now", "flight-recorder next-time", "stacks next-time"}, "dmesg"},
		{"the recorders wrote their dumps", resolve.Facts{Obs: &worker.Observations{Signs: []worker.Sign{written}}}, hang, []incident.Need{needFR},
			[]string{"flight-recorder perishing", "kernel perishing", "stacks next-time"}, "/local/fr/trace_*"},
		{"the job hangs right now", resolve.Facts{Accounting: alive}, hang, []incident.Need{needPySpy},
			[]string{"collected perishing"}, "bot collect"},
		{"the job runs and nothing has failed", resolve.Facts{Accounting: alive, Job: resolve.JobFacts{WorldSize: 96}}, nil, nil, []string{"collected perishing"}, "bot collect"},
		{"the job runs and has crashed", resolve.Facts{Accounting: alive}, []knowledge.Slug{"exception"}, nil, nil, ""},
		{"all dumps are here", resolve.Facts{Ranks: []*resolve.Rank{rank(0, true), rank(1, true)}, Job: resolve.JobFacts{WorldSize: 2}}, []knowledge.Slug{"collective-hang", "gpu-hang"}, []incident.Need{needFR, needDmesg},
			[]string{"kernel perishing", "fabric perishing"}, "dmesg"},
		{"one dump lacks", resolve.Facts{Ranks: []*resolve.Rank{rank(0, true), rank(1, false)}, Job: resolve.JobFacts{WorldSize: 2}}, []knowledge.Slug{"collective-hang", "gpu-hang"}, []incident.Need{needFR},
			[]string{"flight-recorder perishing", "kernel perishing", "fabric perishing"}, "nccl_trace_rank_"},
		{"a killer is not known", resolve.Facts{}, []knowledge.Slug{"external-signal", "host-oom"}, []incident.Need{{What: "a record of who sent the signal", Artefact: knowledge.SlurmRecords}},
			[]string{"kernel perishing", "slurm-records now"}, "dmesg"},
		{"SLURM's records are here", resolve.Facts{Accounting: &resolve.Accounting{Jobs: alive.Jobs}}, []knowledge.Slug{"external-signal", "time-limit"}, nil, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.facts.Obs == nil {
				tt.facts.Obs = &worker.Observations{}
			}
			var got []string
			needs := Needs(&Scene{Facts: &tt.facts}, tt.set, tt.wants)
			for _, n := range needs {
				what := n.Artefact
				if what == "" {
					what = n.What
				}
				got = append(got, what+" "+n.Obtainable)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			if len(needs) > 0 && !strings.Contains(needs[0].Command, tt.says) {
				t.Errorf("first command %q does not say %q", needs[0].Command, tt.says)
			}
		})
	}
}

func TestEachNeedOfAMechanismIsOfAKnownKindOrSaysHowItIsHad(t *testing.T) {
	for _, m := range All() {
		for _, n := range m.Needs {
			if _, ok := knowledge.ArtefactBySlug(n.Artefact); n.Artefact != "" && !ok {
				t.Errorf("%s: there is no artefact %q", m.Slug, n.Artefact)
			}
			if n.Artefact == "" && (n.Obtainable == "" || n.What == "") {
				t.Errorf("%s: %+v does not say how it is had", m.Slug, n)
			}
		}
	}
}
