package workflow

import (
	"context"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
)

func TestAStoredReportHoldsNoSecretAndIsVerifiedAsTheFilesSay(t *testing.T) {
	secret := "ghp_" + strings.Repeat("Qm3Zt9", 6)
	for name, c := range map[string]struct {
		message          string
		restart, changed bool
		diagnosed        int
		why              bool
	}{
		"nothing to mask":                    {message: "disk full", diagnosed: 1},
		"nothing to mask, after a restart":   {message: "disk full", restart: true, diagnosed: 1},
		"a secret":                           {message: "no access with " + secret, diagnosed: 1},
		"a secret, after a restart":          {message: "no access with " + secret, restart: true, diagnosed: 2},
		"colours, after a restart":           {message: "\x1b[31mdisk full\x1b[0m", restart: true, diagnosed: 2},
		"the files changed during a restart": {message: "no access with " + secret, restart: true, changed: true, diagnosed: 2, why: true},
	} {
		t.Run(name, func(t *testing.T) {
			diagnosed, message := 0, c.message
			engine := Engine{Diagnose: func(context.Context, analysis.Input) (*incident.Report, error) {
				diagnosed++
				return &incident.Report{Verdict: incident.Verdict{Summary: message}}, nil
			}}
			ctx, inv := t.Context(), &Investigation{ID: "F-1", Warnings: []string{"one file was cut"}}
			f := &Flow{Engine: engine, Now: time.Now}
			out, err := f.triage(ctx, inv)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.report.Verdict.Summary+out.note, secret) || inv.Report != out.report {
				t.Errorf("stored: %q, noted: %q", inv.Report.Verdict.Summary, out.note)
			}
			inv.Report.Revisions = []incident.Revision{{Was: "another"}}
			if c.restart {
				f = &Flow{Engine: engine, Now: time.Now}
			}
			if c.changed {
				message += " again"
			}
			r, why := f.toVerify(ctx, inv)
			if diagnosed != c.diagnosed || (why != "") != c.why {
				t.Fatalf("diagnosed %d times, %q", diagnosed, why)
			}
			if why == "" && r.Verdict.Summary != c.message {
				t.Errorf("to verify: %q", r.Verdict.Summary)
			}
		})
	}
}

func TestUnmaskedReportsAreFew(t *testing.T) {
	var u unmasked
	for i := range 3 * unmaskedKept {
		u.mask(&Investigation{ID: string(rune('A' + i))}, &incident.Report{Verdict: incident.Verdict{Summary: "a\x00"}})
	}
	if len(u.kept) != unmaskedKept || u.take("A") != nil || u.take(string(rune('A'+3*unmaskedKept-1))) == nil {
		t.Errorf("%d are kept", len(u.kept))
	}
}
