package desk

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCommandsAreReadAsPeopleWriteThem(t *testing.T) {
	job := func(j string) order { return order{verb: "diagnose", job: j} }
	for text, want := range map[string]order{
		"":                        {verb: "start"},
		"   ":                     {verb: "start"},
		"private":                 {verb: "start", private: true},
		"12345":                   job("12345"),
		"  12345  ":               job("12345"),
		"`12345`":                 job("12345"),
		"*12345*":                 job("12345"),
		"#12345":                  job("12345"),
		"#12345.":                 job("12345"),
		"12345,":                  job("12345"),
		"job 12345":               job("12345"),
		"job id 12345":            job("12345"),
		"job=12345":               job("12345"),
		"jobid:12345":             job("12345"),
		"12345_7":                 job("12345_7"),
		"12345_[1-4,8]":           job("12345_[1-4,8]"),
		"12345+0":                 job("12345+0"),
		"12345_7+1":               {verb: "diagnose", bad: "12345_7+1"}, // SLURM has no arrays of heterogeneous jobs
		"4242;id":                 {verb: "diagnose", bad: "4242;id"},
		"12345678901234567":       {verb: "diagnose", bad: "12345678901234567"},
		"１２３":                     {verb: "diagnose", bad: "１２３"},
		"$(id)":                   {verb: "diagnose", bad: "$(id"},
		"0":                       {verb: "diagnose", bad: "0"},
		"12345.0":                 job("12345"),
		"12345.batch":             job("12345"),
		"<tel:12345|12345>":       job("12345"),
		"<https://x/j/1|12345>":   job("12345"),
		"/diagnose 12345":         job("12345"),
		"<@UBOT> 12345":           job("12345"),
		"diagnose 12345":          job("12345"),
		"west:12345":              {verb: "diagnose", job: "12345", cluster: "west"},
		"west:#12345_7 private":   {verb: "diagnose", job: "12345_7", cluster: "west", private: true},
		"12345 logs:/a/b":         {verb: "diagnose", job: "12345", places: []string{"/a/b"}},
		"12345 /a/b /c":           {verb: "diagnose", job: "12345", places: []string{"/a/b", "/c"}},
		"logs:/a/b":               {verb: "diagnose", places: []string{"/a/b"}},
		`logs:"/a b/c"`:           {verb: "diagnose", places: []string{"/a b/c"}},
		"logs /a/b":               {verb: "logs", places: []string{"/a/b"}},
		"help":                    {verb: "help"},
		"?":                       {verb: "help"},
		"HELP":                    {verb: "help"},
		"status":                  {verb: "status"},
		"status F-12":             {verb: "status", id: "F-12"},
		"status f-12":             {verb: "status", id: "F-12"},
		"status 12345":            {verb: "status", job: "12345"},
		"status west:12345":       {verb: "status", job: "12345", cluster: "west"},
		"cancel `F-3`":            {verb: "cancel", id: "F-3"},
		"re-run F-3":              {verb: "rerun", id: "F-3"},
		"why?":                    {verb: "why"},
		"dispute F-3 it was disk": {verb: "dispute", id: "F-3", rest: "it was disk"},
		"wrong it was the disk":   {verb: "dispute", rest: "it was the disk"},
		"foo":                     {verb: "diagnose", bad: "foo"},
		"12345 67890":             {verb: "diagnose", job: "12345", bad: "67890"},
		"job":                     {verb: "diagnose", bad: "job"},
		"-1":                      {verb: "diagnose", bad: "-1"},
		"explain a \"b\"\nc":      {verb: "explain", rest: "a \"b\"\nc"},
		"explain ```x```":         {verb: "explain", rest: "x"},
		"Explain":                 {verb: "explain"},
		"12345; rm -rf /":         {verb: "diagnose", job: "12345", bad: "rm", places: []string{"/"}},
		"12a45":                   {verb: "diagnose", bad: "12a45"},
		"99999999999999999999":    {verb: "diagnose", bad: "99999999999999999999"},
	} {
		if got := parse(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestEveryLineOfTheHelpIsUnderstood(t *testing.T) {
	for _, u := range usages {
		text := strings.NewReplacer("[", "", "]", "", " or 12345", "").Replace(u.write)
		if o := parse(text); o.bad != "" {
			t.Errorf("%q is not understood: %+v", u.write, o)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"12345 private", "west:12345_7+0", "logs:/a", "status F-1", "<@U1> <https://x|y>", "“a b” \"", "dispute F-1 x", "\xff#`1`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := parse(text)
		if o.verb == "" {
			t.Error("no verb")
		}
		if o.job != "" && !jobForm.MatchString(o.job) {
			t.Errorf("job %q", o.job)
		}
		if o.id != "" && !idForm.MatchString(o.id) {
			t.Errorf("id %q", o.id)
		}
		if o.cluster != "" && !clusterForm.MatchString(o.cluster) {
			t.Errorf("cluster %q", o.cluster)
		}
		if o.verb == "diagnose" && o.job == "" && len(o.places) == 0 && o.bad == "" {
			t.Errorf("%q asks for nothing", text)
		}
		if s := shown(o.bad); utf8.RuneCountInString(s) > maxShown {
			t.Errorf("%d characters are shown", utf8.RuneCountInString(s))
		}
	})
}
