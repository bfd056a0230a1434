package knowledge

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"faultline/knowledge/styletest"
)

// eachRoot calls f with every entry that can be a verdict's line.
func eachRoot(f func(s *Signature)) {
	all := Whole().Signatures()
	for i := range all {
		if all[i].Role == CauseRole || all[i].Role == SymptomRole {
			f(&all[i])
		}
	}
}

// Most lines say more than their mechanism. The rest was reviewed, and its mechanism's advice is what an expert would do first.
func TestMostEntriesHaveAFirstActionOfTheirOwn(t *testing.T) {
	const least = 400
	own, shared, owners, scopes := 0, 0, 0, 0
	eachRoot(func(s *Signature) {
		if len(s.Do) > 0 {
			own++
		} else {
			shared++
		}
		if s.Owner != "" {
			owners++
		}
		if s.Scope != "" {
			scopes++
		}
	})
	t.Logf("%d entries can be a verdict's line: %d have a first action of their own, %d leave it to their mechanism; %d have an owner, %d a scope of their own",
		own+shared, own, shared, owners, scopes)
	if own < least {
		t.Errorf("%d entries have a first action of their own, want %d", own, least)
	}
}

func TestOwnersAndScopesOfEntries(t *testing.T) {
	scopes := []Scope{"", ScopeProcess, ScopeNode, ScopeFabric, ScopeStorage, ScopeJob}
	for _, s := range Whole().Signatures() {
		if s.Owner != "" && !slices.Contains(Owners, s.Owner) {
			t.Errorf("%s: owner %q", s.ID, s.Owner)
		}
		if !slices.Contains(scopes, s.Scope) {
			t.Errorf("%s: scope %q", s.ID, s.Scope)
		}
		if m, ok := MechanismBySlug(s.Mechanism); ok && s.Owner == m.Owner {
			t.Errorf("%s: its owner is its mechanism's, %s", s.ID, s.Owner)
		}
		if s.Owner != "" && len(s.Do) == 0 {
			t.Errorf("%s: another owner, who is told nothing", s.ID)
		}
		if s.Role != CauseRole && s.Role != SymptomRole && (len(s.Do) > 0 || s.Owner != "" || s.Scope != "") {
			t.Errorf("%s: nothing is to be done about %s", s.ID, s.Role)
		}
	}
}

// Advice is imperative: it begins with one of these.
var imperatives = strings.Fields(`Accept Add Ask Attach Bring Build Call Cut Change Check Choose Clear Clip Compare Compile Copy Correct Count Create Decode Delete Disable Do Download Drop
	Enlarge End Exclude Fetch Fill Find Fix Free Get Give Go Have Install Keep Leave Let Lift List Load Log Look Lower Make Measure Move Name Nothing Open Pin Point Print Probe Put Raise
	Read Rebuild Reduce Remove Renew Replace Replay Request Rerun Resolve Restart Resubmit Resume Roll Run Save Search See Send Set Show Split Stage Start Switch Take Test Train Unset Until Update Use Wait`)

// faultsOfAdvice is what is wrong with the wording of one thing to do.
func faultsOfAdvice(a Advice, known []string) []string {
	var out []string
	const most = 20 // words
	for _, sentence := range regexp.MustCompile(`[.!?](?:\s|$)`).Split(a.Text, -1) {
		if n := len(strings.Fields(sentence)); n > most {
			out = append(out, "a sentence too long: "+sentence)
		}
	}
	if first, _, _ := strings.Cut(a.Text, " "); !slices.Contains(imperatives, strings.Trim(first, ",.")) {
		out = append(out, "no imperative: "+a.Text)
	}
	if !strings.HasSuffix(a.Text, ".") || strings.Count(a.Text, ";") > 1 {
		out = append(out, "no plain sentence: "+a.Text)
	}
	for _, word := range styletest.Banned(a.Text) {
		out = append(out, "banned: "+word)
	}
	for _, p := range placeholder.FindAllStringSubmatch(a.Text+" "+a.Command, -1) {
		if !slices.Contains(known, p[1]) {
			out = append(out, "unknown placeholder "+p[0])
		}
	}
	if strings.Contains(strings.TrimSuffix(a.Command, "…"), "…") {
		out = append(out, "left open in the middle: "+a.Command)
	}
	if strings.ContainsAny(a.Command, "\n`") || strings.Count(a.Command, "'")%2 != 0 || strings.Count(a.Command, `"`)%2 != 0 {
		out = append(out, "cannot be pasted: "+a.Command)
	}
	return out
}

func TestWordsOfEntriesAdvice(t *testing.T) {
	hardware := []Slug{"gpu-ecc", "gpu-off-bus", "gpu-nvlink"}
	eachRoot(func(s *Signature) {
		known := slices.Clone(Placeholders)
		for _, m := range regexp.MustCompile(`\?P<([a-z]+)>`).FindAllStringSubmatch(s.Pattern, -1) {
			if _, ok := unnamed[m[1]]; ok {
				known = append(known, m[1])
			}
		}
		m, _ := MechanismBySlug(s.Mechanism)
		for _, a := range s.Do {
			for _, fault := range faultsOfAdvice(a, known) {
				t.Errorf("%s: %s", s.ID, fault)
			}
			if regexp.MustCompile(`(?i)\bdrain\b|replace the node`).MatchString(a.Text+a.Command) && !slices.Contains(hardware, s.Mechanism) {
				t.Errorf("%s: draining needs a hardware sign", s.ID)
			}
			if len(m.Now) > 0 && m.Now[0].Text == a.Text {
				t.Errorf("%s: it is what its mechanism says first", s.ID)
			}
		}
		if !s.Scope.NamesRank() && slices.ContainsFunc(s.Do, func(a Advice) bool { return strings.Contains(a.Text, "{rank}") }) {
			t.Errorf("%s: scope %s names no rank, its advice does", s.ID, s.Scope)
		}
		if !s.Scope.NamesNode() && slices.ContainsFunc(s.Do, func(a Advice) bool { return strings.Contains(a.Text, "{node}") }) {
			t.Errorf("%s: scope %s names no node, its advice does", s.ID, s.Scope)
		}
	})
}

// The check of the words can fail.
func TestFaultsOfAdvice(t *testing.T) {
	for _, a := range []Advice{
		{"The card is broken.", ""}, {"See whoever holds it.", ""}, {"See it", ""}, {"See {nonsense}.", ""}, {"See it.", "echo 'x"}, {"See it.", "rm\nx"}, {"See it.", "run …; see"},
		{"See " + strings.Repeat("and see ", 10) + "it.", ""},
	} {
		if len(faultsOfAdvice(a, Placeholders)) == 0 {
			t.Errorf("nothing wrong with %+v", a)
		}
	}
	if f := faultsOfAdvice(Advice{"See whether {node} answers.", "ping {node}"}, Placeholders); len(f) > 0 {
		t.Error(f)
	}
}

// What a line captures comes from a log: it is filled in where it is plain, and never in place of a proven rank or node.
func TestCapturesAreFilledInSafely(t *testing.T) {
	a := Advice{"Test {host} from {node}.", "nc -zv {host} {port}; ls {path}; kill {pid}"}
	for _, c := range []struct {
		captured map[string]string
		want     Advice
	}{
		{map[string]string{"host": "ais", "port": "51080", "path": "/data/a-1.tar", "pid": "7", "node": "other", "text": "x"},
			Advice{"Test ais from gn02.", "nc -zv ais 51080; ls /data/a-1.tar; kill 7"}},
		{map[string]string{"host": "a;id", "port": "$(id)", "path": "/data/a b;rm", "pid": "-9"},
			Advice{"Test the host from gn02.", "nc -zv HOST PORT; ls PATH; kill PID"}},
		{map[string]string{"path": "-rf", "host": "--x"}, Advice{"Test the host from gn02.", "nc -zv HOST PORT; ls PATH; kill PID"}},
	} {
		if got := a.Fill(WithCaptures(map[string]string{"node": "gn02"}, c.captured)); got != c.want {
			t.Errorf("%v:\n got %+v\nwant %+v", c.captured, got, c.want)
		}
	}
}
