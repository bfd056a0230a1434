package worker

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"unicode/utf8"
)

// oracles are the patterns that the shapes stand for.
var oracles = []struct {
	name    string
	shape   shape
	pattern *regexp.Regexp
}{
	{"empty object", shapeEmptyObject, regexp.MustCompile(`Object (?P<target>\S+).*? from bucket \S+ (?:returned empty content|is empty)`)},
	{"failed fetch", shapeFailedFetch, regexp.MustCompile(`Failed to fetch object (?P<target>\S+)`)},
	{"caught", shapeCaught, regexp.MustCompile(`: Caught \w+ in DataLoader worker process \d+`)},
	{"reached", shapeReached, regexp.MustCompile(`\(reached max retries: (?P<limit>\d+)\)`)},
	{"broken", shapeBroken, regexp.MustCompile(`Retrying \(Retry\(total=(?P<left>\d+).{0,200}?\)\) after connection broken by .*: (?P<target>/\S*)`)},
	{"left", shapeLeft, regexp.MustCompile(`Retrying \(Retry\(total=(?P<left>\d+)`)},
	{"host", shapeHost, regexp.MustCompile(`host='(?P<target>[^']+)'`)},
	{"tenacity", shapeTenacity, regexp.MustCompile(`Retrying (?P<target>\S+) in [\d.]+ seconds as it (?:raised|returned) `)},
	{"resuming", shapeResuming, regexp.MustCompile(`Resuming '(?P<target>[^']*)' after .* \((?P<attempt>\d+)/(?P<limit>\d+)\)`)},
	{"retry", shapeRetry, regexp.MustCompile(`(?i)\bre-?try(?:ing)?\b.{0,120}?(?:^|[\s(\[#=:])(?P<attempt>\d{1,4})\s*(?:/|of|out of)\s*(?P<limit>\d{1,4})(?:$|[^\d\w/.-]|\.(?:$|\s))`)},
	{"attempt", shapeAttempt, regexp.MustCompile(`(?i)\battempt\b.{0,40}?(?:^|[\s(\[#=:])(?P<attempt>\d{1,4})\s*(?:/|of|out of)\s*(?P<limit>\d{1,4})(?:$|[^\d\w/.-]|\.(?:$|\s))`)},
	{"gave up", shapeGaveUp, regexp.MustCompile(`(?i)(?:fail(?:ed|ure)|giving up|gave up|exhausted)\b.{0,80}?\bafter (?P<limit>\d{1,4}) (?:retries|attempts|tries)\b`)},
	{"giving up", shapeGivingUp, regexp.MustCompile(`Giving up (?P<target>[\w.]+)\(.* after (?P<limit>\d+) tries`)},
	{"backing off", shapeBackingOff, regexp.MustCompile(`Backing off (?P<target>[\w.]+)\(.* for [\d.]+s`)},
	{"sleeping", shapeSleeping, regexp.MustCompile(`Retrying due to .*, sleeping [\d.]+s`)},
	{"already tried", shapeAlreadyTried, regexp.MustCompile(`Retrying connect to server: (?P<target>[^\s]+?)\. Already tried (?P<done>\d+) time\(s\)(?:; (?:retry policy is|maxRetries=).*?(?:maxRetries=)(?P<limit>\d+))?`)},
	{"of data", func(_ *IO, text []byte) bool { return ofData(text) }, regexp.MustCompile(`(?i)connect|reset|time[d]?[ -]?out|read|download|fetch|\bget\b|https?\b|\burl|object|bucket|\bs3\b|gs://|hdfs|store|stream|shard|\bbatch|sample|\bopen|\bload|file|\brequest|i/o|disconnect|\bhost|checkpoint|\bsav(?:e|ing)|writ|upload`)},
}

// byPattern is what the pattern reads.
func byPattern(re *regexp.Regexp, text []byte) (IO, bool) {
	v := IO{Attempt: none, Limit: none, Left: none}
	m := re.FindSubmatch(text)
	if m == nil {
		return v, false
	}
	numbers := map[string]*int{"attempt": &v.Attempt, "limit": &v.Limit, "left": &v.Left}
	for k, name := range re.SubexpNames() {
		switch {
		case name == "" || len(m[k]) == 0:
		case name == "target":
			v.Target = string(m[k][:min(len(m[k]), maxLastText)])
		default:
			n, err := strconv.Atoi(string(m[k]))
			if err != nil || n > 1<<20 {
				return v, false
			}
			if name == "done" { // attempts made so far
				n, name = n+1, "attempt"
			}
			*numbers[name] = n
		}
	}
	return v, true
}

func FuzzShapes(f *testing.F) {
	for _, s := range []string{
		"Object a/b.flac/x.flac from bucket ais://speech returned empty content. Object x from bucket  is empty",
		"Failed to fetch object  Failed to fetch object a/b", "x: Caught E in DataLoader worker process 3", "(reached max retries: 4) (reached max retries: x)",
		"Retrying (Retry(total=4, connect=None)) after connection broken by 'E(': x': /v1/o: /b c", "Retrying (Retry(total=Retrying (Retry(total=99999999)) after connection broken by : /",
		"host='' host='a'", "Retrying f in 3.2 seconds as it raised x", "Retrying a in Retrying b in . seconds as it returned ", "Resuming 'a' after E (2/5) (3/x)", "Resuming ''' after  (1/2)",
		"Retrying in 5sec [1/20]", "RE-TRY 3 out of 5.", "retry  retry (12 /  0012)", "retry: 1/2.3 retry =3of4x retry#1/1", "retryings 1/2 re-trying é 3/5é",
		"attempt 3/5", "attempts 3/5 ATTEMPT\t(0004 Of 5)", "failed after 5 attempts", "GAVE UP x after 12345 tries after 1 tries", "exhausted after 3 triesx failure_ failed éafter 3 retries",
		"Giving up a.b(x after 3 tries (after 4 tries after 5 trie", "Giving up (Giving up f( after 3 tries", "Backing off f(x for 0.9s Backing off g( for s", "Retrying due to , sleeping 1.5s",
		"Retrying connect to server: nn/10.0.0.1:8020. Already tried 3 time(s); retry policy is X(maxRetries=10, sleepTime=1)", "Retrying connect to server: a.. Already tried 0 time(s); maxRetries=x maxRetries=45",
		"timed-out", "forget get", "https_ http", "curl url", "as3 s3", "rebatch", "I/O", "presaving saving",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		// No record holds a line end; and what folds to s and k outside of ASCII is nobody's spelling.
		if bytes.IndexByte(text, '\n') >= 0 || bytes.ContainsRune(text, 'ſ') || bytes.ContainsRune(text, '\u212a') || !utf8.Valid(text) && len(text) > 1<<12 {
			return
		}
		for _, o := range oracles {
			want, wantOK := byPattern(o.pattern, text)
			got := IO{Attempt: none, Limit: none, Left: none}
			if gotOK := o.shape(&got, text); gotOK != wantOK || wantOK && got != want {
				t.Errorf("%s: %q\ngives %+v, %v\nwant  %+v, %v", o.name, text, got, gotOK, want, wantOK)
			}
		}
	})
}

// TestShapesReadWhatThePatternsRead writes every wording with parts left out, doubled and broken by others.
func TestShapesReadWhatThePatternsRead(t *testing.T) {
	wordings := [][]string{
		{"Object ", "a/b", " x", " from bucket ", "ais://b", " returned empty content"}, {"Object ", "b", " from bucket ", "x", " is empty"},
		{"Failed to fetch object ", "a", " b"}, {": Caught ", "E", " in DataLoader worker process ", "5"}, {"(reached max retries: ", "5", ")"},
		{"Retrying (Retry(total=", "5", ", connect", ")) after connection broken by ", "E", ": /", "a", " b"},
		{"host='", "a", "'"}, {"Retrying ", "f", " in ", "3.2", " seconds as it ", "raised "}, {"Retrying ", "f", " in ", "3", " seconds as it ", "returned "},
		{"Resuming '", "a", "' after ", "E", " (", "5", "/", "0012", ")"},
		{"retry", " ", "5", "/", "0012"}, {"Retrying", " in ", "5", " [", "5", " of ", "12", "]"}, {"RE-TRY", "=", "5", "\t", "out of", " ", "12", "."}, {"re-trying", " (", "5", "/", "5", ")"},
		{"attempt", " ", "5", "/", "0012"}, {"ATTEMPT", ":", "5", " Of ", "12"},
		{"failed", " x", " after ", "5", " retries"}, {"Giving up", " after ", "5", " attempts"}, {"failure", " after ", "5", " tries"}, {"exhausted", " after ", "5", " tries", "x"},
		{"Giving up ", "a.b", "(", "x", " after ", "5", " tries"}, {"Backing off ", "f", "(", "x", " for ", "0.5", "s"}, {"Retrying due to ", "E", ", sleeping ", "1.5", "s"},
		{"Retrying connect to server: ", "nn:8020", ".", " Already tried ", "5", " time(s)", "; retry policy is", " X(", "maxRetries=", "12"},
		{"Retrying connect to server: ", "nn", ".", " Already tried ", "0", " time(s)", "; maxRetries=", "5", "maxRetries=", "45"},
		{"time", "d", " ", "out"}, {" ", "get", " "}, {"http", "s"}, {"as", "s3"}, {"sav", "ing"}, {"url"},
	}
	noise := []string{" ", "  ", "x", "_", "-", ".", "/", "5", "12345", "99999999999999999999", "é", "\xff", "\r", "(", "'", "=", "#", "ing", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}
	rng := rand.New(rand.NewPCG(1, 2))
	read := make([]int, len(oracles))
	for range 20000 {
		var text []byte
		for range 1 + rng.IntN(2) {
			for _, part := range wordings[rng.IntN(len(wordings))] {
				switch rng.IntN(24) {
				case 0:
					continue
				case 1:
					text = append(text, part...)
				case 2:
					text = append(text, bytes.ToUpper([]byte(part))...)
					continue
				case 3, 4, 5:
					text = append(text, noise[rng.IntN(len(noise))]...)
				}
				text = append(text, part...)
			}
		}
		for i, o := range oracles {
			want, wantOK := byPattern(o.pattern, text)
			got := IO{Attempt: none, Limit: none, Left: none}
			if gotOK := o.shape(&got, text); gotOK != wantOK || wantOK && got != want {
				t.Fatalf("%s: %q\ngives %+v, %v\nwant  %+v, %v", o.name, text, got, gotOK, want, wantOK)
			}
			if wantOK {
				read[i]++
			}
		}
	}
	for i, n := range read {
		if n < 100 {
			t.Errorf("%s: only %d of the texts are of that form", oracles[i].name, n)
		}
	}
}
