package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"faultline/incident"
	"faultline/messages/redact"
)

// unmaskedKept bounds how many reports are in memory with the text of logs as it is.
const unmaskedKept = 32

// unmasked holds reports between their first verdict and the last verification. What is stored is masked: a training log
// may print secrets, and the store must not hold them. But a masked quotation cannot be compared with its file.
type unmasked struct {
	mu   sync.Mutex
	kept []unmaskedReport // the oldest first
}

type unmaskedReport struct {
	id     string
	report *incident.Report
}

// mask returns a report as it may be stored and shown. Where that changes it, inv.Masked says so, and the report is kept as
// it is for the verification to come.
func (u *unmasked) mask(inv *Investigation, r *incident.Report) *incident.Report {
	masked := shown(r)
	u.take(inv.ID)
	if inv.Masked = !sameReport(r, masked); !inv.Masked {
		return masked
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = append(u.kept, unmaskedReport{inv.ID, r})
	if n := len(u.kept) - unmaskedKept; n > 0 {
		u.kept = slices.Delete(u.kept, 0, n)
	}
	return masked
}

// shown is a report as people may see it: without secrets, and, where logs of storage daemons were read, without the buckets of
// those who have nothing to do with the job.
func shown(r *incident.Report) *incident.Report {
	if len(r.Storage.Daemons) == 0 {
		return redact.Report(r)
	}
	daemons := map[string]bool{}
	for _, d := range r.Storage.Daemons {
		for _, f := range d.Files {
			daemons[f.Name] = true
		}
	}
	used := slices.Clone(r.Storage.Buckets)
	if r.Job.DataSource != nil {
		used = append(used, *r.Job.DataSource)
	}
	own := func(e incident.Evidence) {
		if !daemons[e.File] && e.Kind == incident.KindQuote {
			used = append(used, e.Text)
		}
	}
	walk(r, own)
	for _, s := range r.Storage.Signs {
		for _, e := range s.Evidence {
			own(e)
		}
	}
	return redact.NewBuckets(used...).Report(r)
}

// take returns the report of an investigation and forgets it; nil where none is held.
func (u *unmasked) take(id string) *incident.Report {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := slices.IndexFunc(u.kept, func(k unmaskedReport) bool { return k.id == id })
	if i < 0 {
		return nil
	}
	r := u.kept[i].report
	u.kept = slices.Delete(u.kept, i, i+1)
	return r
}

// toVerify is the stored report with the text of the logs as it is. Where that was masked and the bot was restarted
// since, it is made once more: the same files give the same report. Where they do not any more, why says so.
func (f *Flow) toVerify(ctx context.Context, inv *Investigation) (r *incident.Report, why string) {
	if !inv.Masked {
		return inv.Report, ""
	}
	same := func(r *incident.Report) bool {
		masked := *shown(r)
		masked.Revisions = inv.Report.Revisions // the history is the investigation's, not the files'
		masked.Storage.Status = inv.Report.Storage.Status
		return sameReport(&masked, inv.Report)
	}
	if r := f.unmasked.take(inv.ID); r != nil && same(r) {
		return r, ""
	}
	again := inv.clone()
	r, _, err := f.diagnose(ctx, &again, 0)
	if err != nil {
		return nil, fmt.Sprintf("reading them again failed: %v", err)
	}
	r.Warnings = slices.Concat(r.Warnings, inv.Warnings, inv.StorageMissing)
	if !same(r) {
		return nil, "they produce a different report"
	}
	return r, ""
}

// sameReport compares what is stored of two reports.
func sameReport(a, b *incident.Report) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
