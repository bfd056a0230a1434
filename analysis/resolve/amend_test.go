package resolve

import (
	"testing"

	"faultline/analysis/worker"
	"faultline/knowledge"
)

// A line means something else below another one of its file, and only there.
func TestCasesOfEntriesAreApplied(t *testing.T) {
	const (
		trap   = knowledge.IDPeerDeepEPKernel
		launch = "cuda-launch-failure"
		step   = "slurm-step-create"
	)
	type line struct {
		file string
		id   knowledge.ID
	}
	read := func(id knowledge.ID) Meaning {
		s, _ := knowledge.Whole().Lookup(id)
		return Meaning{s.Mechanism, s.Role, s.Direct, s.ID}
	}
	trapped := Meaning{Role: knowledge.SymptomRole, Sign: trap}
	notFinite := read("cuda-assert").of(knowledge.NonFiniteLoss)
	exited := read("loader-worker-exited")
	for name, c := range map[string]struct {
		lines   []line // one below the other
		signs   []line // lines that are no failures, above them
		trained bool   // the first line of a.log tells of a step
		ended   bool   // the scheduler tells how the job ended
		mixed   bool   // several nodes write a.log
		want    Meaning
	}{
		"below":                      {lines: []line{{"a.log", trap}, {"a.log", launch}}, want: trapped},
		"above":                      {lines: []line{{"a.log", launch}, {"a.log", trap}}, want: read(trap)},
		"in another file":            {lines: []line{{"b.log", trap}, {"a.log", launch}}, want: read(launch)},
		"the check alone":            {lines: []line{{"a.log", knowledge.IDCUDANaNCheck}, {"a.log", "cuda-assert"}}, want: notFinite},
		"and another assertion":      {lines: []line{{"a.log", knowledge.IDCUDAAssertLine}, {"a.log", knowledge.IDCUDANaNCheck}, {"a.log", "cuda-assert"}}, want: read("cuda-assert")},
		"the node is being stopped":  {signs: []line{{"a.log", knowledge.IDSignalElasticClosing}}, lines: []line{{"a.log", "loader-worker-exited"}}, want: exited.following()},
		"a node of the file is":      {signs: []line{{"a.log", knowledge.IDSignalElasticClosing}}, lines: []line{{"a.log", "loader-worker-exited"}}, mixed: true, want: exited},
		"the next step":              {trained: true, lines: []line{{"a.log", launch}, {"a.log", step}}, want: read(step).following()},
		"a check before training":    {lines: []line{{"a.log", launch}, {"a.log", step}}, want: read(step)},
		"only steps fail":            {trained: true, lines: []line{{"a.log", step}, {"a.log", step}}, want: read(step)},
		"the end is told":            {ended: true, lines: []line{{"a.log", "signal-shell-terminated"}}, want: read("signal-shell-terminated").of("")},
		"nobody tells how it ended":  {lines: []line{{"a.log", "signal-shell-terminated"}}, want: read("signal-shell-terminated")},
		"what has no entry is as it": {lines: []line{{"a.log", ""}}, want: Meaning{}},
	} {
		f := &Facts{Obs: &worker.Observations{}, sight: sight{ident: &identity{multiHost: map[string]bool{"a.log": c.mixed}}}}
		off := int64(0)
		next := func(file string) worker.At {
			off++
			return worker.At{Pos: worker.Pos{File: file, Off: off, Line: off}}
		}
		if c.trained {
			f.Progress = []ProgressPoint{{Progress: &worker.Progress{At: next("a.log")}}}
		}
		if c.ended {
			f.Ends = []*End{{}}
		}
		for _, l := range c.signs {
			f.Obs.Signs = append(f.Obs.Signs, worker.Sign{At: next(l.file), ID: l.id})
		}
		for _, l := range c.lines {
			at := next(l.file)
			fl := &Failure{At: &at, Kind: KindSign}
			fl.is(read(l.id))
			f.Failures = append(f.Failures, fl)
		}
		enact(f.reconsider(), &f.Warnings)
		last := f.Failures[len(f.Failures)-1]
		if got := last.Meaning(); got != c.want {
			t.Errorf("%s: it is %v, expected %v", name, got, c.want)
		}
		if changed := last.Meaning() != read(c.lines[len(c.lines)-1].id); changed != (len(last.Trail) == 1) {
			t.Errorf("%s: the trail is %v", name, last.Trail)
		}
	}
}

// What an exception means depends on what its process was about; each such meaning says why.
func TestCasesOfExceptions(t *testing.T) {
	saving := []worker.Frame{{File: "/a/torch/serialization.py", Func: "save"}}
	plain := []worker.Frame{{File: "/a/train.py", Func: "main"}}
	for name, c := range map[string]struct {
		x    worker.Exception
		want Meaning
	}{
		"a file of a checkpoint": {worker.Exception{Type: "OSError", Frames: saving, Signs: []knowledge.ID{"storage-io-error"}}, Meaning{knowledge.CheckpointIO, knowledge.CauseRole, true, "storage-io-error"}},
		"a file of the data":     {worker.Exception{Type: "tarfile.ReadError", LoaderWorker: 0, Signs: []knowledge.ID{"data-tar"}}, Meaning{knowledge.BadSample, knowledge.CauseRole, false, "data-tar"}},
		"parsing something else": {worker.Exception{Type: "json.JSONDecodeError", LoaderWorker: -1, Frames: plain, Signs: []knowledge.ID{"data-json"}}, Meaning{knowledge.Exception, knowledge.CauseRole, true, "data-json"}},
		"raised, not retried":    {worker.Exception{Type: "IncompleteRead", LoaderWorker: 0, Signs: []knowledge.ID{"storage-incomplete"}}, Meaning{knowledge.StorageRetriesExhausted, knowledge.CauseRole, false, "storage-incomplete"}},
	} {
		if c.x.Type == "OSError" {
			c.x.LoaderWorker = -1
		}
		if got, why := settingOf(knowledge.Whole(), &c.x).inContext(); got != c.want || why == "" {
			t.Errorf("%s: it is %v because %q, expected %v", name, got, why, c.want)
		}
	}
}
