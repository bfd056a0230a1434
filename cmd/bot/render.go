package main

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"faultline/analysis/history"
	"faultline/analysis/scan"
	"faultline/incident"
	"faultline/messages"
)

// look is how a report is to be shown.
type look struct {
	color   bool
	width   int // 0 = the default of the format
	verbose bool
	first   bool // the first screen alone
	// files are where the sources lie, for the lines around a quotation in HTML.
	files map[string]string
	// who is what a line of history says of a run that its logs do not.
	who history.Who
}

func render(w io.Writer, format string, r *incident.Report, l look) error {
	switch format {
	case "terminal":
		return messages.Terminal(w, r, messages.Style{Color: l.color, Width: l.width, Verbose: l.verbose, FirstOnly: l.first})
	case "markdown":
		return messages.Markdown(w, r)
	case "json":
		return messages.JSON(w, r)
	case "html":
		return messages.HTML(w, r, messages.Extras{Context: excerpts(r, l.files)})
	case formatBrief:
		_, err := fmt.Fprintln(w, messages.Brief(r))
		return err
	case formatHistory:
		return writeHistory(w, r, l.who)
	case "png":
		return messages.RankMapPNG(w, r)
	}
	return fmt.Errorf("unknown format %q", format)
}

// placed fills the folder of the logs into the commands of a report that a person reads; the JSON holds no paths.
func placed(r *incident.Report, folder string) *incident.Report {
	quoted := strings.ReplaceAll(folder, "'", `'\''`) // the commands quote it
	fill := strings.NewReplacer("<cluster>:<log dir>", quoted, "<log dir>", quoted)
	shown := *r
	shown.Verdict.Needs = slices.Clone(r.Verdict.Needs)
	for i := range shown.Verdict.Needs {
		shown.Verdict.Needs[i].Command = fill.Replace(shown.Verdict.Needs[i].Command)
	}
	shown.Recommendations = slices.Clone(r.Recommendations)
	for i := range shown.Recommendations {
		shown.Recommendations[i].Command = fill.Replace(shown.Recommendations[i].Command)
	}
	return &shown
}

// How much is shown around a quotation.
const (
	excerptLines = 5       // before and after
	excerptBytes = 4 << 10 // before and after
	maxExcerpts  = 300     // in one report
)

// excerpts reads the lines around the quotations of a report. A file that cannot be read again has none: the
// quotations themselves are in the report.
func excerpts(r *incident.Report, files map[string]string) map[string]messages.Excerpt {
	wanted := map[string][]incident.Evidence{}
	n := 0
	var collect func([]incident.Evidence)
	collect = func(list []incident.Evidence) {
		for _, e := range list {
			if e.Kind == incident.KindQuote && n < maxExcerpts {
				wanted[e.File] = append(wanted[e.File], e)
				n++
			}
			collect(e.Inputs)
		}
	}
	for _, link := range r.Chain {
		collect(link.Evidence)
	}
	for _, h := range r.Hypotheses {
		for _, f := range append(append([]incident.Finding{}, h.For...), h.Against...) {
			collect(f.Evidence)
		}
	}
	for _, ev := range r.Timeline {
		collect(ev.Evidence)
	}
	found := map[string]messages.Excerpt{}
	for name, quotes := range wanted {
		if path, ok := files[name]; ok {
			readExcerpts(path, quotes, found)
		}
	}
	return found
}

// readExcerpts makes one pass over a file, from quotation to quotation.
func readExcerpts(path string, quotes []incident.Evidence, found map[string]messages.Excerpt) {
	f, err := scan.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	sort.Slice(quotes, func(i, j int) bool { return quotes[i].Offset < quotes[j].Offset })
	var window []byte // the bytes [at-len(window), at) of the content
	var at int64
	for _, q := range quotes {
		begin, end := max(q.Offset-excerptBytes, 0), q.Offset+int64(len(q.Text))+excerptBytes
		if begin > at {
			if _, err := io.CopyN(io.Discard, f, begin-at); err != nil {
				return
			}
			at, window = begin, nil
		}
		if end > at {
			more := make([]byte, end-at)
			got, _ := io.ReadFull(f, more) // a short file ends the window, nothing else
			window = append(window, more[:got]...)
			at += int64(got)
		}
		first := at - int64(len(window))
		if q.Offset < first || q.Offset > at {
			return // the file is shorter than it was
		}
		before, after := window[max(begin-first, 0):q.Offset-first], window[q.Offset-first:min(end, at)-first]
		found[fmt.Sprintf("%s:%d", q.File, q.Line)] = excerpt(string(before), string(after), q.Line, begin == 0)
		if keep := at - excerptBytes; keep > first {
			window = window[keep-first:]
		}
	}
}

// excerpt cuts whole lines out of what stands before a quotation and what begins with it. The text before may begin in
// the middle of a line, unless it begins at the file's start.
func excerpt(before, after string, line int64, fromStart bool) messages.Excerpt {
	above := strings.Split(before, "\n")
	head := above[len(above)-1] // the quoted line up to the quotation
	above = above[:len(above)-1]
	if !fromStart && len(above) > 0 {
		above = above[1:]
	}
	above = above[max(len(above)-excerptLines, 0):]
	below := strings.Split(after, "\n")
	below[0] = head + below[0]
	below = below[:min(len(below), excerptLines+1)]
	if last := len(below) - 1; last > 0 && below[last] == "" {
		below = below[:last]
	}
	return messages.Excerpt{First: line - int64(len(above)), Lines: append(above, below...)}
}
