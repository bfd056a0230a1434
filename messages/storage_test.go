package messages

import (
	"bytes"
	"html"
	"strings"
	"testing"

	"faultline/incident"
)

func withDaemons() *incident.Report {
	r := stall()
	quote := incident.Quote("ais-logs/aisproxy-p/x.INFO", 7, 100, "E 23:16:00.275888 slow-kalive failure *bold* <!channel>", nil)
	event := func(kind, what, level, first string, n int, within *int) incident.StorageEvent {
		return incident.StorageEvent{Kind: kind, What: what, Level: level, Peer: ptr("t-3"), First: first, Last: first, Count: n, InWindow: within, Evidence: []incident.Evidence{quote}}
	}
	r.Storage = incident.Storage{Status: "partial", Judgement: "open", Targets: []string{}, Clocks: "unproven", Window: ptr("2026-11-20T22:30:00/2026-11-20T23:35:00"),
		Daemons: []incident.StorageDaemon{{Name: "proxy p", ID: ptr("p"), CoveredFrom: ptr("2026-11-20T22:00:00.000000"), CoveredTo: ptr("2026-11-20T23:31:00.000000"),
			Files:      []incident.StorageFile{{Name: "ais-logs/aisproxy-p/x.INFO"}},
			NotCovered: []incident.StorageGap{{To: ptr("2026-11-20T22:00:00.000000"), Why: "before-first-file", Text: "what was before was removed"}},
			Lives:      []incident.StorageLife{{Start: "2026-11-20T22:00:00.000000", StartSeen: true, Last: "2026-11-20T23:31:00.000000", Ended: "killed", Text: "ended without a word"}},
			Events: []incident.StorageEvent{
				event("removed", "removed another daemon from the cluster map", "alarm", "2026-11-20T23:16:00.275888", 1, ptr(1)),
				event("keepalive-failed", "another daemon did not respond", "alarm", "2026-11-20T23:15:45.000000", 2, ptr(2)),
				event("keepalive-failed", "another daemon did not respond", "alarm", "2026-11-20T23:15:46.000000", 1200, ptr(1200)),
				event("out-of-space", "out of space", "alarm", "2026-11-20T20:00:00.000000", 1, ptr(0)),
				event("ready", "ready to serve", "background", "2026-11-20T22:00:01.000000", 1, ptr(1)),
			},
			Stalls: []incident.StorageStall{{From: "2026-11-20T23:16:44.000000", To: "2026-11-20T23:26:49.000000", Text: "it received nothing", InWindow: ptr(true), Evidence: []incident.Evidence{quote}}},
		}, {Name: "an unnamed daemon"}}}
	return r
}

func TestTheDaemonsOfTheStorageAreTold(t *testing.T) {
	out := map[string]string{}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"terminal": func(b *bytes.Buffer) error { return Terminal(b, withDaemons(), Style{Width: 200}) },
		"markdown": func(b *bytes.Buffer) error { return Markdown(b, withDaemons()) },
		"html":     func(b *bytes.Buffer) error { return HTML(b, withDaemons(), Extras{}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		out[name] = b.String()
		if name == "html" {
			out[name] = html.UnescapeString(out[name])
		}
		if name == "markdown" {
			out[name] = strings.ReplaceAll(out[name], "\\", "")
		}
	}
	for name, text := range out {
		text = strings.Join(strings.Fields(text), " ")
		for _, want := range []string{
			"--job-zone", "between 2026-11-20 22:30:00 and 2026-11-20 23:35:00, if the clocks agree", "proxy p", "Before 2026-11-20 22:00:00: what was before was removed",
			"23:16:00: removed another daemon from the cluster map (t-3).", "23:15:45 to 23:15:46: another daemon did not respond (t-3), 1,202 times.",
			"ended without a word.", "23:16:44 to 23:26:49: it received nothing.", "1 kind of lines outside the window",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
		for _, not := range []string{"out of space", "ready to serve"} {
			if strings.Contains(text, not) {
				t.Errorf("%s tells %q, which lies outside of the window or says nothing", name, not)
			}
		}
	}
}

func TestClocksThatAreHoursApartHideNothing(t *testing.T) {
	r := withDaemons()
	d := &r.Storage.Daemons[0]
	d.Stalls = nil
	for i := range d.Events {
		d.Events[i].InWindow = ptr(0)
	}
	var b bytes.Buffer
	if err := Terminal(&b, r, Style{Width: 200}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"which may be in another time zone, so all events are shown", "removed another daemon", "out of space"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, b.String())
		}
	}
}

func TestDaysAreToldWhereMoreThanTheWindowIsShown(t *testing.T) {
	for _, c := range []struct {
		from, to string
		windowed bool
		want     string
	}{
		{"2026-11-20T23:15:32.100000", "2026-11-20T23:15:59.200000", true, "23:15:32 to 23:15:59"},
		{"2026-11-20T23:15:32.100000", "2026-11-20T23:15:59.200000", false, "2026-11-20 23:15:32 to 23:15:59"},
		{"2026-11-20T23:15:32.100000", "2026-11-21T00:01:00.000000", false, "2026-11-20 23:15:32 to 2026-11-21 00:01:00"},
		{"2026-11-20T23:15:32.100000", "2026-11-20T23:15:32.900000", false, "2026-11-20 23:15:32"},
		{"23:15:32.100000", "23:16:00.000000", false, "23:15:32 to 23:16:00"},
	} {
		if got := stretch(c.from, c.to, c.windowed); got != c.want {
			t.Errorf("%s, %s: %q, not %q", c.from, c.to, got, c.want)
		}
	}
}
