package resolve

import (
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// maxFramed is how many exceptions, and stacks of collectives, are looked at for whose code they go through: what a job runs on
// shows in the first of them, and a storm has a hundred thousand.
const maxFramed = 4096

// frameworksOf are all that some line speaks of, as knowledge.Frameworks puts them: by name, by the code that tracebacks go
// through, by progress lines that only one prints, and by what Ray calls the processes.
func frameworksOf(obs *worker.Observations) string {
	seen := map[string]bool{}
	for i := range obs.Facts {
		if x := &obs.Facts[i]; x.Key == "framework" {
			seen[x.Value] = true
		}
	}
	files := map[string]bool{}
	walk := func(frames []worker.Frame) {
		for _, fr := range frames {
			if !files[fr.File] {
				files[fr.File] = true
				seen[knowledge.FrameworkAt(fr.File)] = true
			}
		}
	}
	for i := range obs.Exceptions[:min(len(obs.Exceptions), maxFramed)] {
		x := &obs.Exceptions[i]
		walk(x.Frames)
		walk(x.Main)
		for k := range x.Cause {
			walk(x.Cause[k].Frames)
		}
	}
	for i := range obs.Stacks[:min(len(obs.Stacks), maxFramed)] {
		walk(obs.Stacks[i].Frames)
	}
	forms := map[string]bool{}
	for i := range obs.Progress {
		// Trainer's dictionary has a form of its own; its bar is anybody's.
		if p := &obs.Progress[i]; !p.Bar {
			forms[p.Form] = true
		}
	}
	for form := range forms {
		seen[knowledge.FrameworkPrinting(form)] = true
	}
	for i := range obs.Tails {
		for k := range obs.Tails[i].Writers {
			if name := obs.Tails[i].Writers[k].Who.RayName; name != "" {
				seen[knowledge.FrameworkOfActor(name)] = true
			}
		}
	}
	delete(seen, "")
	ids := make([]string, 0, len(seen))
	for id := range seen {
		ids = append(ids, id)
	}
	return knowledge.Frameworks(ids)
}

// NamesFramework says that a line of the job itself states what it runs on, as jobs do when they start.
func (f *Facts) NamesFramework() bool {
	for i := range f.Obs.Facts {
		if f.Obs.Facts[i].Key == "framework" {
			return true
		}
	}
	return false
}
