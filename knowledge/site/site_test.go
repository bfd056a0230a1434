package site

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"faultline/knowledge"
)

// entry is a whole failure; each case of the tests below changes one line of it.
const entry = `failures:
- id: xfab-heartbeat
  line: 'xfab: heartbeat lost on port {port}'
  mechanism: link-error
  meaning: The driver lost the heartbeat.
  examples:
  - text: 'xfab: heartbeat lost on port 3'
`

func TestFaultsAreNamedWithTheirLine(t *testing.T) {
	const line, example = "line: 'xfab: heartbeat lost on port {port}'", "- text: 'xfab: heartbeat lost on port 3'"
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown key", "mechanism:", "mechanisms:", `s.yaml:4: unknown key "mechanisms"; did you mean "mechanism"?`},
		{"no YAML", "failures:", "failures: [", "s.yaml:"},
		{"no id", "xfab-heartbeat", "XFAB", `s.yaml:2: failures[0].id: "XFAB" is not a valid id`},
		{"an id of Faultline", "xfab-heartbeat", "gpu-ecc-cuda", `Faultline already has an entry "gpu-ecc-cuda"`},
		{"unknown mechanism", "link-error", "link-eror", `s.yaml:4: failures[0].mechanism: there is no mechanism "link-eror"; did you mean "link-error"?`},
		{"a cause of nothing", "  mechanism: link-error\n", "", "s.yaml:2: failures[0].mechanism: a cause needs a mechanism"},
		{"unknown owner", "  meaning:", "  owner: clutser\n  meaning:", `s.yaml:5: failures[0].owner: "clutser" is not one of`},
		{"unknown role", "  meaning:", "  role: reason\n  meaning:", `"reason" is not one of cause, symptom`},
		{"a symptom that proves", "  meaning:", "  role: symptom\n  proves: alone\n  meaning:", "only a cause can prove anything"},
		{"blame without proof", "  meaning:", "  blames: node\n  meaning:", "must be a proof"},
		{"no meaning", "  meaning: The driver lost the heartbeat.\n", "", "failures[0].meaning: explain in one sentence"},
		{"a meaning of two lines", "The driver lost the heartbeat.", "\"a\\nb\"", "without control characters"},
		{"a meaning without end", "The driver lost the heartbeat.", strings.Repeat("x", 500), "500 bytes are more than 400"},
		{"no example", "  examples:\n  " + example + "\n", "", "failures[0].examples: give at least one line"},
		{"an example of another line", example, "- text: 'xfab: heartbeat is back'", "s.yaml:7: failures[0].examples[0].text: the line above doesn't match this text"},
		{"an example that should not match", example, example + "\n    expect: nothing", "matches this text but shouldn't"},
		{"an example of a rank that is none", example, example + "\n    rank: 8", "8 is not between 0 and 7"},
		{"no line", line, "line: ''", "write the line's text"},
		{"too little text", line, "line: 'port {port}'", "needs at least 7 characters of literal text"},
		{"an open brace", line, "line: 'xfab: heartbeat lost on port {port'", "{port is not closed"},
		{"a brace of the text", line, "line: 'xfab: heartbeat {\"port\"}'", "write a literal brace as {{"},
		{"two side by side", line, "line: 'xfab: heartbeat lost on port {port}{unit}'", "directly follows another placeholder"},
		{"one name twice", line, "line: 'xfab: heartbeat lost on {port} and {port}'", "{port} appears twice"},
		{"an advice with a hole", "  meaning:", "  do: [{text: 'Look at {prot}.'}]\n  meaning:", `{prot} is unknown; you can use {job}, {node}, {nodes}, {root}, {rank}, {pid}, {target}, {mountpath}, {disk}, {last}, {frame}, {line}, {save}, {since}, {port}; did you mean`},
		{"a name that the line has not", "  meaning:", "  names: [{capture: prot, is: host, whose: lost}]\n  meaning:", `the line has no {prot}; did you mean "port"?`},
		{"a name of no kind", "  meaning:", "  names: [{capture: port, is: hots, whose: lost}]\n  meaning:", `"hots" is not one of rank`},
		{"an action for nothing", entry, "actions:\n- owner: cluster\n", "s.yaml:2: actions[0]: give either a mechanism or an entry"},
		{"an action without content", entry, "actions:\n- mechanism: gpu-ecc\n", "give an owner, or what to do first"},
		{"an action for no entry", entry, "actions:\n- entry: gpu-ecc-cuad\n  owner: cluster\n", `s.yaml:2: actions[0].entry: there is no entry "gpu-ecc-cuad"; did you mean "gpu-ecc-cuda"?`},
		{"a suppression without reason", entry, "suppress:\n- id: n\n  line: 'noise of ours'\n  examples: [{text: noise of ours}]\n", "suppress[0].why: explain in one sentence why"},
		{"a suppression of no cause", entry, "suppress:\n- id: n\n  line: 'noise of ours'\n  why: It is.\n  causes: [gpu-ecc-cuad]\n  examples: [{text: noise of ours}]\n", "suppress[0].causes[0]: \"gpu-ecc-cuad\" is not a Faultline entry"},
		{"a meaning with a hole", "lost the heartbeat.", "lost the heartbeat on {port}.", "s.yaml:5: failures[0].meaning: {port} isn't filled in here"},
		{"a reason with a hole", entry, "suppress:\n- id: n\n  line: 'noise of ours'\n  why: It is {x}.\n  examples: [{text: noise of ours}]\n", "s.yaml:4: suppress[0].why: {x} isn't filled in here"},
		{"another document behind it", "on port 3'\n", "on port 3'\n---\nfailures: []\n", "s.yaml:9: a second document begins here"},
		{"a key in another's place", "failures:", "id: x\nfailures:", `s.yaml:1: the key "id" does not belong here`},
		{"a bandwidth that is no number", entry, "baselines: {bus_bandwidth_gbs: .nan}\n", "baselines.bus_bandwidth_gbs: NaN is not between"},
		{"a bandwidth without end", entry, "baselines: {bus_bandwidth_gbs: .inf}\n", "baselines.bus_bandwidth_gbs: +Inf is not between"},
		{"a negative bandwidth", entry, "baselines: {bus_bandwidth_gbs: -1}\n", "baselines.bus_bandwidth_gbs: -1 is not between"},
	} {
		text := strings.Replace(entry, c.old, c.new, 1)
		if text == entry {
			t.Errorf("%s changes nothing", c.name)
		}
		if _, err := Parse("s.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.name, err, c.want)
		}
	}
	if _, err := Parse("s.yaml", []byte(entry)); err != nil {
		t.Errorf("the entry itself: %v", err)
	}
}

// A file of dashes and comments around one document is one document.
func TestOneDocumentMayHaveDashesAroundIt(t *testing.T) {
	for _, text := range []string{"---\n" + entry, "# of ours\n---\n" + entry + "---\n", entry + "...\n", "", "# nothing yet\n"} {
		if _, err := Parse("s.yaml", []byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A pipe that nobody writes to and a device without end are refused, not waited for.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{pipe, "/dev/zero", t.TempDir()} {
		done := make(chan error, 1)
		go func() {
			_, err := Load([]string{file})
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), file+" is not a regular file") {
				t.Errorf("%s: %v", file, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s: waits", file)
		}
	}
}

func TestTooManyEntriesAreRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("actions:\n")
	for range maxEntries + 1 {
		b.WriteString("- {mechanism: gpu-ecc, owner: cluster}\n")
	}
	if _, err := Parse("s.yaml", []byte(b.String())); err == nil || !strings.Contains(err.Error(), "501 entries are more than 500") {
		t.Errorf("%v", err)
	}
	if _, err := Load(make([]string, maxFiles+1)); err == nil {
		t.Error("any number of files is read")
	}
}

// A line is text: what means something in an expression means itself.
func TestALineIsText(t *testing.T) {
	for _, c := range []struct{ line, text, captures string }{
		{"lost (a|b)* of [x] ^$", "yy lost (a|b)* of [x] ^$", ""},
		{"lost (a|b)* of [x] ^$", "lost a of x", "-"},
		{"daemon {{up}} lost {peer}", "daemon {up}} lost gn02", "peer=gn02"},
		{"{peer}: lost the heartbeat", "gn02: lost the heartbeat", "peer=gn02"},
		{"lost the heartbeat {*} of {peer} at {port}.", "lost the heartbeat (twice) of gn02 at 7.", "peer=gn02 port=7"},
		{"at {*} lost the heartbeat", "at noon lost the heartbeat", ""},
		{"at {*} lost the heartbeat", "lost the heartbeat", "-"},
	} {
		r := reader{file: "s.yaml", where: func(string) int { return 1 }}
		tpl := r.template("line", c.line)
		if len(r.errs) > 0 {
			t.Errorf("%q: %v", c.line, r.errs)
			continue
		}
		k := knowledge.Only(knowledge.Signature{ID: "x", Literals: tpl.literals, Pattern: tpl.pattern(nil)})
		got := "-"
		if len(k.Match(nil, []byte(c.text))) > 0 {
			got = ""
			for _, name := range tpl.names() {
				got += fmt.Sprintf(" %s=%s", name, k.Fields("x", []byte(c.text))[name])
			}
		}
		if got = strings.TrimSpace(got); got != c.captures {
			t.Errorf("%q in %q: %q, want %q", c.line, c.text, got, c.captures)
		}
	}
}

func TestActionsOfEntriesComeBeforeThoseOfMechanisms(t *testing.T) {
	k, err := Parse("s.yaml", []byte("actions:\n- {mechanism: gpu-ecc, owner: cluster}\n- {entry: gpu-ecc-cuda, owner: scheduler}\n- {mechanism: gpu-ecc, owner: nobody}\n"))
	if err != nil {
		t.Fatal(err)
	}
	known := knowledge.Whole().With(k.Site)
	for id, want := range map[knowledge.ID]knowledge.Owner{"gpu-ecc-cuda": knowledge.OwnerScheduler, "gpu-ecc-x": knowledge.OwnerCluster} {
		if a, ok := known.Acts(id, knowledge.GPUECC); !ok || a.Owner != want {
			t.Errorf("%s: %+v", id, a)
		}
	}
	if _, ok := known.Acts("x", knowledge.GPUOOM); ok {
		t.Error("an action for what nobody states")
	}
	if known.Base() != knowledge.Whole() {
		t.Error("the base is not what was added to")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(entry)
	f.Add("suppress:\n- id: n\n  line: 'noise {*} of ours'\n  why: It is.\n  examples: [{text: noise of ours}]\n")
	f.Add("actions: [{mechanism: gpu-ecc, do: [{text: 'x {node}'}]}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := Parse("s.yaml", []byte(text))
		if err != nil {
			return
		}
		known := knowledge.Whole().With(k.Site)
		for _, e := range k.Examples {
			known.Match(nil, []byte(e.Text))
		}
	})
}
