package desk

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"faultline/chat"
	"faultline/messages"
	"faultline/workflow"
)

// proofs are what names of logs find, by job.
type proofs struct {
	by    map[string]workflow.Proof
	asked []string
	err   error
}

func (p *proofs) Prove(_ context.Context, cluster, job string, templates []string) (workflow.Proof, error) {
	p.asked = append(p.asked, cluster+" "+job+" "+strings.Join(templates, " "))
	return p.by[job], p.err
}

// proves gives the stage names that find all logs of 12345, and some of 12346.
func (s *stage) proves() *proofs {
	p := &proofs{by: map[string]workflow.Proof{
		"12345": {Job: "12345", Users: []string{"ana"}, Files: 32, Complete: true, Says: []string{"{user}/logs/error-%j-%n.err: 16 of 16 nodes, 32 files"}},
		"12346": {Job: "12346", Users: []string{"ana"}, Files: 15, Says: []string{"{user}/logs/error-%j-%n.err: 15 of 16 nodes, missing node07 (index 6), 15 files"}},
	}}
	s.desk.Prover = p
	return p
}

// sets is said by somebody whom C1 trusts.
func (s *stage) sets(text string) string { return s.does(by("U2", command("C1", text))) }

const errs = "{user}/logs/error-%j-%n.err"

// Conversations in which a team says where its logs are.
func TestTranscriptsOfSetup(t *testing.T) {
	for name, play := range map[string]func(s *stage){
		"setup-proven.txt": func(s *stage) {
			s.sets("setup show")
			s.sets("setup 12345 " + errs)
			s.sets("setup show")
			s.sets("setup clear")
			s.sets("setup show")
		},
		"setup-anyway.txt": func(s *stage) {
			s.sets("setup 12346 " + errs)
			s.sets("setup show")
			s.does(press("U2", actSetup, teamTemplate{Cluster: "west", Templates: []string{errs}}.id()))
			s.sets("setup show")
		},
		"setup-refused.txt": func(s *stage) {
			s.sets("setup 12345 /home/ana/logs/*.err")
			s.sets("setup 12345 /home/ana/%j/../../bob")
			s.sets("setup 12345 /home/ana/err.log")
			s.sets("setup 12345")
			s.sets("setup " + errs)
			s.sets("setup mars:12345 " + errs)
			s.does(press("U2", actSetup, "another"))
			s.desk.Prover.(*proofs).err = errors.New("the cluster has no job 9; give one of your finished jobs")
			s.sets("setup 9 " + errs)
			s.says("setup 12345 " + errs) // whom nobody trusts with it
		},
		"setup-window.txt": func(s *stage) {
			s.does(submission("U2", messages.ViewSetup, "C1", map[string]string{messages.FieldTemplates: errs + "\n{user}/slurm-%j.out", messages.FieldJob: "12345"}))
			s.sets("setup show")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.proves()
			play(s)
			golden(t, name, s.transcript())
			if d := doubled(s.all()); len(d) > 0 {
				t.Errorf("doubled: %q", d)
			}
		})
	}
}

func TestTheChannelsLastJobIsProposed(t *testing.T) {
	s := newStage(t)
	p := s.proves()
	s.says("12345")
	s.at("F-1", workflow.Reported)
	s.sets("setup " + errs)
	if !slices.Equal(p.asked, []string{"west 12345 " + errs}) {
		t.Errorf("%q", p.asked)
	}
	s.does(chat.Inbound{Kind: chat.Command, Channel: "C1", User: "U2", Text: "setup", Trigger: "T", Respond: hook})
	if v := s.surface.views; len(v) == 0 {
		t.Error("no window was opened")
	}
}

func TestWhatATeamSetsHoldsForItsChannelAlone(t *testing.T) {
	s := newStage(t)
	s.proves()
	s.sets("setup 12345 " + errs)
	for channel, want := range map[string]string{"C1": errs, "C2": ""} {
		got, err := Templates(context.Background(), s.store, workflow.Investigation{Home: workflow.Home{Channel: channel}})
		if err != nil || strings.Join(got["west"], " ") != want {
			t.Errorf("%s: %q %v", channel, got, err)
		}
	}
	private := workflow.Investigation{Home: workflow.Home{Channel: "DU1", Private: true, AskedIn: "C1"}}
	if got, err := Templates(context.Background(), s.store, private); err != nil || len(got["west"]) != 1 {
		t.Errorf("%q %v", got, err)
	}
	entries, err := s.store.Ledger(context.Background(), "")
	if err != nil || !slices.ContainsFunc(entries, func(e workflow.Entry) bool { return e.Actor == "U2" && strings.Contains(e.Text, errs) }) {
		t.Errorf("not in the audit trail: %+v %v", entries, err)
	}
}

// Names may be tried on jobs that the channel may see, and on no others.
func TestNobodyLearnsOfAJobBySetup(t *testing.T) {
	s := newStage(t)
	p := s.proves()
	p.by["12345"] = workflow.Proof{Job: "12345", Users: []string{"berta"}, Files: 3, Says: []string{"/home/berta/secret-12345.err"}}
	rule := s.policy.Channels["C8"]
	rule.Trusted.Anyone = true
	s.policy.Channels["C8"] = rule
	for _, err := range []error{nil, errors.New("job 12345 never had nodes and wrote no logs")} {
		p.err = err
		got := s.does(command("C8", "setup 12345 "+errs))
		if strings.Contains(got, "berta") || strings.Contains(got, "never had nodes") || !strings.Contains(got, "has no job 12345") {
			t.Errorf("%v: %s", err, got)
		}
	}
}

func TestWindowsOfSetupAreCheckedWhileTheyAreOpen(t *testing.T) {
	for name, c := range map[string]struct {
		fields map[string]string
		want   string
	}{
		"good":        {map[string]string{messages.FieldTemplates: errs, messages.FieldJob: "west:12345"}, ""},
		"no job":      {map[string]string{messages.FieldTemplates: errs}, ""},
		"nothing":     {nil, messages.FieldTemplates},
		"a glob":      {map[string]string{messages.FieldTemplates: "/x/%j/*.log"}, ""},
		"all below":   {map[string]string{messages.FieldTemplates: "/x/%j/**"}, ""},
		"all between": {map[string]string{messages.FieldTemplates: "/x/**/%j.log"}, messages.FieldTemplates},
		"a set":       {map[string]string{messages.FieldTemplates: "/x/%j/[ab].log"}, messages.FieldTemplates},
		"not a job":   {map[string]string{messages.FieldTemplates: errs, messages.FieldJob: "train"}, messages.FieldJob},
		"every job's": {map[string]string{messages.FieldTemplates: "/x/train.log"}, messages.FieldTemplates},
	} {
		got := Check(submission("U1", messages.ViewSetup, "C1", c.fields), nil)
		if _, ok := got[c.want]; c.want == "" && len(got) > 0 || c.want != "" && !ok {
			t.Errorf("%s: %v", name, got)
		}
	}
}
