package resolve

import (
	"faultline/analysis/artifact/timeseries"
	"faultline/analysis/moved"
	"faultline/analysis/slow"
	"faultline/analysis/worker"
)

// Onset is what a job's own log says around the moment at which its steps slowed down.
type Onset struct {
	File  string
	Table *timeseries.Table // the numbers of its lines; nil where they are known anyway
	// News are lines between the last normal step and the first slow one that are unlike all before them.
	News []News
	// Oftener is what comes far more often since; nil where nothing does.
	Oftener *Oftener
}

// News is one line.
type News struct {
	Text string
	At   worker.At
}

// Oftener is a kind of line, by the first since.
type Oftener struct {
	News
	Before, Since int
}

// Setting is a number of the job's own lines that was one before a slowdown, and another from then on.
type Setting struct {
	What    string
	Was, Is moved.Place
}

// settings are what changed in the job's own lines when it slowed down, and in nothing else.
func (f *Facts) settings(d *Slowdown) (out []Setting) {
	for _, x := range f.tables() {
		if x.File != d.Course.File {
			continue
		}
		for _, s := range x.Table.Series {
			t := f.divide(f.trackOf(&x, s, "", nil), d)
			if !set(t) {
				continue
			}
			was, is := t.Before[0], t.After[0]
			_, role := slow.Measure(s.What)
			if was.V == is.V || role == slow.Effect && !slow.Work(s.What) {
				continue
			}
			out = append(out, Setting{What: s.What, Was: moved.Place{File: x.File, Point: was.At}, Is: moved.Place{File: x.File, Point: is.At}})
		}
	}
	return out
}

// set says that a number of a log's own lines is none that is measured: it is one before a slowdown, and one since.
func set(t *moved.Track) bool {
	known := min(len(t.Before), len(t.After)) >= leastReports
	return known && len(t.Keys) == 0 && !t.Rate && steady(t.Before) && steady(t.After)
}

// steady says that all values are one.
func steady(list []moved.Sample) bool {
	for i := range list {
		if list[i].V != list[0].V {
			return false
		}
	}
	return true
}

// tables are all tables over time: those that were given, and the numbers of the slowed log's own lines.
func (f *Facts) tables() []SeriesFile {
	out := f.Handed.Series
	if o := f.Onset; o != nil && o.Table != nil {
		out = append(out[:len(out):len(out)], SeriesFile{File: o.File, Table: o.Table})
	}
	return out
}
