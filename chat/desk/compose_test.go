package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/chat"
	"faultline/config"
	"faultline/incident"
	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// overturns makes the engine give one verdict for one file and another for more.
func (s *stage) overturns() {
	s.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
		if len(in.Sources) > 1 {
			return report("gpu-ecc", incident.Confirmed), nil
		}
		r := report("rank-stalled", incident.Probable)
		r.Coverage.NodesExpected, r.Coverage.NodesMissing = []string{"node01", "node02"}, []string{"node02"}
		return r, nil
	}
	s.surface.files["A"] = "log of node02"
}

func upload(user string, id string) chat.Inbound {
	return submission(user, messages.ViewUpload, id, nil, chat.File{ID: "A", Name: "node02.out", Bytes: 13})
}

func TestTranscripts(t *testing.T) {
	for name, play := range map[string]func(s *stage){
		"stall.txt": func(s *stage) { s.says("12345") },
		"revision.txt": func(s *stage) {
			s.overturns()
			s.says("12345")
			s.does(upload("U3", "F-1 1 upload"))
			s.does(submission("U1", messages.ViewClose, "F-1 0 close", map[string]string{messages.FieldVerdict: "right", messages.FieldFix: "replaced the GPU"}))
		},
		"without.txt": func(s *stage) { // one artefact after the other, until nothing is left
			s.hangs()
			s.says("12345")
			s.does(press("U3", actLeave, "F-1 1"))
			s.now = s.now.Add(25 * time.Hour)
			s.tick()
		},
		"hangs.txt": func(s *stage) { // what to run is attached: nobody needs the program for it
			s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
				r := report("gpu-hang", incident.Inconclusive)
				r.Coverage.NodesSeen = []string{"node01", "node02"}
				r.Verdict.Needs = []incident.Need{{What: "stacks", Why: "most of it is lost once the job ends; waiting for it costs 0.3 GPU hours per minute", Command: "bot collect 12345", Obtainable: "perishing", Artefact: "collected"}}
				return r, nil
			}
			s.says("12345")
		},
		"no-failure.txt": func(s *stage) {
			s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
				r := report("completed", incident.NoFailure)
				r.Action = incident.Action{Resubmit: "no"}
				r.Verdict.Root = incident.Root{}
				return r, nil
			}
			s.says("12345")
		},
		"nothing-found.txt": func(s *stage) {
			s.says("west:777")
			s.now = s.now.Add(31 * time.Minute)
			s.tick()
			s.now = s.now.Add(25 * time.Hour)
			s.tick()
			s.does(upload("U1", "F-1 0 upload"))
		},
		"running.txt": func(s *stage) {
			s.fetch.quiet["west/12345"] = s.now.Add(-time.Minute)
			s.says("12345")
			s.does(press("U1", actWhenEnds, "F-1 1"))
			s.now = s.now.Add(10 * time.Minute)
			s.tick()
		},
		"private.txt": func(s *stage) {
			s.overturns()
			s.says("12345 private")
			s.does(chat.Inbound{Kind: chat.Click, Channel: "DU1", Action: actShare, Value: "F-1", Respond: hook})
			s.does(upload("U1", "F-1 1 upload"))
		},
		"failed.txt": func(s *stage) {
			s.engine.diagnose = func(analysis.Input) (*incident.Report, error) { return nil, errors.New("disk full\nsecret line") }
			s.says("12345")
		},
		"disputed.txt": func(s *stage) {
			s.says("12345")
			s.does(submission("U3", messages.ViewDispute, "F-1 1 dispute", map[string]string{messages.FieldCause: "gpu-ecc", messages.FieldText: "dmesg says so"}))
			s.does(press("U1", actUphold, "F-1"))
		},
		"storage.txt": func(s *stage) {
			s.desk.Flow.AskStorage = true
			s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
				r := report("dataloader-stall", incident.Probable)
				r.Storage.Signs = lateData
				return r, nil
			}
			s.says("12345")
			s.does(press("U1", actSkip, "F-1 1"))
		},
		"storage-expired.txt": func(s *stage) {
			s.asksForStorage()
			s.says("12345")
			s.now = s.now.Add(25 * time.Hour)
			s.tick()
		},
		"storage-refused.txt": func(s *stage) { // then uploaded, and that is none; then good ones, and they clear the storage
			s.asksForStorage()
			s.says("12345")
			s.desk.Storage = &access{err: errors.New("the token has expired: create a new one with `ais auth login`")}
			in := withToken(submission("U1", messages.ViewAIS, "F-1 1 "+actAccess, map[string]string{messages.FieldEndpoint: "https://ais"}))
			in.Key = "given"
			s.vault[in.Key] = map[string]config.Secret{messages.FieldToken: "hunter2hunter2"}
			s.does(in)
			for i, name := range []string{"photo.log", "daemons.log"} {
				s.surface.files[name] = name
				s.does(submission("U1", messages.ViewUpload, fmt.Sprintf("F-1 %d %s", i+1, actAISLogs), nil, chat.File{ID: name, Name: name, Bytes: int64(len(name))}))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.desk.Composer.picture = nil
			play(s)
			if d := doubled(s.all()); len(d) > 0 {
				t.Errorf("doubled: %q", d)
			}
			golden(t, name, strings.ReplaceAll(s.transcript(), s.logs, "LOGS"))
		})
	}
}

// hangs makes the verdict a set that two artefacts could decide.
func (s *stage) hangs() {
	s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
		r := report("gpu-hang", incident.Inconclusive)
		r.Verdict.Candidates = []incident.Candidate{{Origin: "hardware", Mechanism: "gpu-hang", Confidence: 0.5}, {Origin: "software", Mechanism: "rank-stalled", Confidence: 0.5}}
		r.Verdict.Needs = []incident.Need{
			{What: "the nodes' kernel logs", Why: "a hung GPU leaves Xid lines there", Command: "ssh node02 dmesg -T > dmesg-node02.txt", Obtainable: "perishing", Artefact: "kernel"},
			{What: "logs from the peer that disappeared", Why: "it failed first", Obtainable: "now", Artefact: "peer-logs"},
			{What: "flight-recorder dumps from all ranks", Why: "they list every collective", Command: "export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1", Obtainable: "next-time", Artefact: "flight-recorder"},
		}
		return r, nil
	}
}

// asksForStorage makes the engine smell the storage, and read what is called daemons as logs of it, which clear it.
func (s *stage) asksForStorage() {
	s.desk.Flow.AskStorage = true
	s.desk.Flow.Daemons = func(_ context.Context, inv workflow.Investigation) (workflow.Collection, error) {
		var c workflow.Collection
		for _, p := range inv.StorageLogs {
			c.Sources = append(c.Sources, incident.Source{Name: "ais-logs/" + filepath.Base(p), Path: p})
		}
		return c, nil
	}
	s.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
		r := report("dataloader-stall", incident.Probable)
		r.Storage.Signs = lateData
		for _, f := range in.Storage {
			if strings.Contains(f.Name, "daemons") {
				r.Storage.Status, r.Storage.Judgement, r.Storage.Why = "examined", "cleared", "AIStore was healthy in the window: look elsewhere"
				r.Storage.Daemons = append(r.Storage.Daemons, incident.StorageDaemon{Name: "target t1"})
			}
		}
		return r, nil
	}
}

// tick lets the routines of a minute run.
func (s *stage) tick() {
	s.t.Helper()
	for _, r := range routines {
		if r.kind == workflow.JobArchive {
			continue
		}
		if err := r.insert(context.Background(), s.store, s.now); err != nil {
			s.t.Fatal(err)
		}
	}
	s.settle()
}

func TestAVerdictThatStandsIsOneSentence(t *testing.T) {
	s := newStage(t)
	s.surface.files["A"] = "log"
	s.says("12345")
	before := s.keys("F-1")
	s.does(upload("U3", "F-1 0 upload"))
	s.at("F-1", workflow.Reported)
	after := s.keys("F-1")
	if len(after) != len(before)+1 || !strings.HasPrefix(after[len(after)-1], "message note-") {
		t.Errorf("new posts: %q", after[len(before):])
	}
}

func TestAnOverturnedVerdictIsSaidAloud(t *testing.T) {
	s := newStage(t)
	s.overturns()
	s.says("12345")
	first := s.at("F-1", workflow.Reported).Told
	s.does(upload("U3", "F-1 1 upload"))
	inv := s.at("F-1", workflow.Reported)
	if inv.Verdicts != 2 || inv.Final != 2 || !slices.Equal(inv.Superseded, []string{first}) || inv.Told == first {
		t.Errorf("%d %d %q %q", inv.Verdicts, inv.Final, inv.Superseded, inv.Told)
	}
	keys := s.keys("F-1")
	for _, want := range []string{"message revision-2", "message verdict-2", "files map-2", "files final-2"} {
		if !slices.Contains(keys, want) {
			t.Errorf("%s is not in %q", want, keys)
		}
	}
	for _, p := range s.all() {
		if p.Key == "revision-2" && (!strings.Contains(string(p.Payload), `"U3"`) || !strings.Contains(string(p.Payload), "replace the earlier")) {
			t.Errorf("revision: %s", p.Payload)
		}
	}
}

func TestTheRequesterIsMentionedOnceAndByTheFinalVerdict(t *testing.T) {
	s := newStage(t)
	s.says("12345")
	for _, p := range s.all() {
		n := strings.Count(string(p.Payload), `"type":"user"`)
		if p.Kind == workflow.PostEdit {
			continue // calls nobody
		}
		if want := map[string]int{"final-1": 1}[p.Key]; n != want {
			t.Errorf("%s %s shows %d people, want %d", p.Kind, p.Key, n, want)
		}
	}
}

func TestAttachmentsAreKeptBeforeTheyAreNamed(t *testing.T) {
	s := newStage(t)
	kept := s.desk.Composer.Blobs.(*blobs).kept
	s.store.save = func(c workflow.Change) {
		for _, p := range c.Posts {
			for _, f := range p.Files {
				if int64(len(kept[f.Blob])) != f.Bytes || f.Bytes == 0 {
					t.Errorf("%s of %s is not kept", f.Name, p.Key)
				}
			}
		}
	}
	s.says("12345")
	var names []string
	for _, p := range s.all() {
		for _, f := range p.Files {
			names = append(names, f.Name)
			if strings.HasSuffix(f.Name, ".png") && f.Alt == "" {
				t.Error("the picture says nothing to those who cannot see it")
			}
		}
	}
	if !slices.Equal(names, []string{"rankmap-1.png", "report.html", "report.md", "report.json"}) {
		t.Errorf("%q", names)
	}
}

// Where ranks' times show something, their picture stands in the post of the rank map.
func TestTimesThatTellAreAPictureBesideTheRankMap(t *testing.T) {
	row := func(name string, v float64) incident.HeatRow {
		return incident.HeatRow{Name: name, Ranks: 1, Cells: []*float64{&v, &v, &v, &v}}
	}
	for _, is := range []float64{7, 14} {
		s := newStage(t)
		s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
			r := report("slow-rank", incident.Probable)
			r.Heat = &incident.Heat{Quantity: "step time", Unit: "s", Rows: []incident.HeatRow{row("rank 0", 7), row("rank 1", 7), row("rank 2", 7), row("rank 3", is)}}
			return r, nil
		}
		s.says("12345")
		var names []string
		for _, p := range s.all() {
			for _, f := range p.Files {
				if p.Key == "map-1" {
					names = append(names, f.Name)
				}
				if f.Name == "times-1.png" && !strings.Contains(f.Alt, "Rank 3: step time 14 s; the median of the 4 ranks shown is 7 s") {
					t.Errorf("alternative text %q", f.Alt)
				}
			}
		}
		want := []string{"rankmap-1.png"}
		if is > 7 {
			want = append(want, "times-1.png")
		}
		if !slices.Equal(names, want) {
			t.Errorf("%v s: %q", is, names)
		}
	}
}

func TestSecretsOfLogsAreInNoPost(t *testing.T) {
	const secret = "hf_abcdefghijklmnopqrstuvwxyz0123456789"
	s := newStage(t)
	s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
		r := report("exception", incident.Confirmed)
		r.Verdict.Summary, r.Verdict.Why = "failed with "+secret+" <!channel>", "because of "+secret
		r.Verdict.Needs = []incident.Need{{What: "the log with " + secret, Why: secret, Command: "cat " + secret, Obtainable: "now"}}
		return r, nil
	}
	s.says("12345 " + secret)
	s.says("12345")
	s.says("status F-1")
	s.says("why F-1")
	s.does(submission("U1", messages.ViewClose, "F-1 0 close", map[string]string{messages.FieldVerdict: "wrong", messages.FieldText: "token " + secret}))
	for _, p := range s.all() {
		if strings.Contains(string(p.Payload), secret) || strings.Contains(string(p.Payload), "<!channel>") {
			t.Errorf("%s %s: %s", p.Kind, p.Key, p.Payload)
		}
	}
	for key, content := range s.desk.Composer.Blobs.(*blobs).kept {
		if strings.Contains(string(content), secret) {
			t.Errorf("blob %s holds it", key)
		}
	}
	for _, id := range []string{"", "F-1"} {
		entries, _ := s.store.Ledger(context.Background(), id)
		for _, e := range entries {
			if strings.Contains(e.Text, secret) && e.Kind != "verdict" && e.Kind != "transition" {
				t.Errorf("ledger: %+v", e)
			}
		}
	}
}

func TestButtonsGoWhenTheirStateGoes(t *testing.T) {
	s := newStage(t)
	s.overturns()
	s.says("12345")
	s.does(upload("U3", "F-1 1 upload"))
	var last workflow.Post
	for _, p := range s.all() {
		if p.Key == "question-1" {
			last = p
		}
	}
	if last.Kind != workflow.PostEdit || strings.Contains(string(last.Payload), `"type":"actions"`) || !strings.Contains(string(last.Payload), `"U3"`) {
		t.Errorf("%s %s", last.Kind, last.Payload)
	}
}

func TestAReportWithHostileOrHugeTextIsStillAPost(t *testing.T) {
	s := newStage(t)
	s.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
		r := report("exception", incident.Confirmed)
		long := strings.Repeat("x<!here>\x00\x1b[2J\u202e%s ", 20_000)
		r.Verdict.Summary, r.Verdict.Why, r.Action.Text = long, long, long
		for range 100 {
			r.Chain = append(r.Chain, incident.Link{Statement: long[:5000], Role: "cause"})
			r.Timeline = append(r.Timeline, incident.Event{Event: long[:3000], Node: long[:300]})
			r.Verdict.Needs = append(r.Verdict.Needs[:min(len(r.Verdict.Needs), 9)], incident.Need{What: long[:4000], Why: long[:4000], Obtainable: "now"})
		}
		return r, nil
	}
	s.says("12345")
	s.at("F-1", workflow.Reported)
	for _, p := range s.all() {
		if problems := blockkit.ValidateMessage(p.Payload); len(problems) > 0 {
			t.Errorf("%s %s would be refused: %v", p.Kind, p.Key, problems)
		}
		var m blockkit.Message
		if err := json.Unmarshal(p.Payload, &m); err != nil || strings.Contains(m.Text, "<!here>") {
			t.Errorf("%s: %v", p.Key, err)
		}
	}
}

func TestAFirstLookAtLargeLogsIsOnePost(t *testing.T) {
	for name, c := range map[string]struct {
		first string
		want  []string
	}{
		"it stands":   {"rank-stalled", []string{"message case", "message look", "message verdict-1", "files map-1", "files final-1"}},
		"it does not": {"gpu-ecc", []string{"message case", "message look", "message revision-1", "message verdict-1", "files map-1", "files final-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.desk.Flow.FirstLook = true
			s.fetch.files["/logs/west/12345"][0].Bytes = 1 << 40
			s.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
				if in.Skim > 0 {
					return report(c.first, incident.Probable), nil
				}
				return report("rank-stalled", incident.Probable), nil
			}
			s.says("12345")
			inv := s.at("F-1", workflow.Reported)
			if got := s.keys("F-1"); !slices.Equal(got, c.want) {
				t.Errorf("%q", got)
			}
			if n := len(inv.Superseded); n != len(c.want)-5 {
				t.Errorf("superseded %q", inv.Superseded)
			}
		})
	}
}
