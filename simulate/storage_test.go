package simulate

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"faultline/simulate/aiscluster"
)

func storageGrid(t *testing.T) []*Incident {
	t.Helper()
	n := 2 * len(Mechanisms(storageLine))
	if testing.Short() {
		n /= 2
	}
	var out []*Incident
	for _, spec := range Grid(n, 5, storageLine) {
		out = append(out, generate(t, spec))
	}
	return out
}

// daemonFiles are the logs of the daemons, unpacked.
func daemonFiles(t *testing.T, inc *Incident) []File {
	t.Helper()
	var out []File
	for _, f := range inc.Storage {
		if !strings.HasSuffix(f.Name, ".tar.gz") {
			out = append(out, f)
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(f.Data))
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(z); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, File{strings.TrimSuffix(f.Name, ".tar.gz") + "/" + h.Name, data})
		}
	}
	return out
}

func TestStorageIncidentsAreDeterministic(t *testing.T) {
	for _, inc := range storageGrid(t) {
		if again := generate(t, inc.Spec); !reflect.DeepEqual(inc, again) {
			t.Errorf("%s differs from one run to the next", inc.ID)
		}
	}
}

func TestAGridOfAllLinesHasNoDaemons(t *testing.T) {
	own := Mechanisms(storageLine)
	for _, spec := range Grid(200, 1, 0) {
		if slices.Contains(own, spec.Mechanism) {
			t.Fatalf("%s is in the grid of all lines", spec.Mechanism)
		}
	}
}

// answered is the server's message, as a reader of the job prints it.
var answered = regexp.MustCompile(`MESSAGE:(.+?), REQ_URL:http://[0-9.:]+(/[^?\s]*)\?`)

// Where a fault of the storage reached the job, something that both sides saw says so: what a reader was answered stands in a
// daemon's log, with the object or the batch; or the address that took no connection is a daemon's.
func TestBothSidesTellOfAFault(t *testing.T) {
	for _, inc := range storageGrid(t) {
		if !inc.Truth.Storage.Implicated() {
			continue
		}
		var daemons bytes.Buffer
		for _, f := range daemonFiles(t, inc) {
			daemons.Write(f.Data)
		}
		// Of some answers no daemon keeps a line; what led to them stands there instead.
		told := map[string]string{"ais-withdrawn": "aism[start-maintenance]", "ais-deleted": "x-delete-listrange[", "ais-frozen": "failed to fast-kalive", "ais-backend": "err.get.n"}[inc.Spec.Mechanism]
		tied := told != "" && bytes.Contains(daemons.Bytes(), []byte(told))
		for _, f := range inc.Files {
			for _, m := range answered.FindAllSubmatch(plainBytes(t, f), -1) {
				for _, l := range bytes.Split(daemons.Bytes(), []byte("\n")) {
					tied = tied || bytes.Contains(l, m[1]) && (bytes.Contains(l, m[2]) || bytes.Contains(l, []byte("wid=")) || bytes.Contains(l, []byte("/v1/ml/moss/")))
				}
			}
			if m := regexp.MustCompile(`host='([0-9.]+)', port=(\d+)\): Max retries`).FindSubmatch(plainBytes(t, f)); m != nil {
				tied = tied || bytes.Contains(daemons.Bytes(), []byte(string(m[1])+":"+string(m[2])))
			}
		}
		if !tied {
			t.Errorf("%s: nothing ties the two sides (%+v)", inc.ID, inc.Spec.AIS)
		}
	}
}

func plainBytes(t *testing.T, f File) []byte {
	t.Helper()
	if !strings.HasSuffix(f.Name, ".gz") {
		return f.Data
	}
	z, err := gzip.NewReader(bytes.NewReader(f.Data))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var (
	daemonFile = regexp.MustCompile(`^ais(target|proxy)-[A-Za-z0-9-]+/ais(target|proxy)\.[A-Za-z0-9-]+\.(INFO|ERROR)\.\d{4}-\d{6}\.\d+$`)
	daemonLine = regexp.MustCompile(`^([IWE] \d\d:\d\d:\d\d\.\d{6} |(Started up|Rotated) at \d{4}/|Node [tp]\[|$)`)
)

// The daemons' files have the names, first lines and line forms of real ones.
func TestDaemonLogsHaveTheirForm(t *testing.T) {
	seen := map[string]int{}
	for _, inc := range storageGrid(t) {
		names := map[string]bool{}
		for _, f := range daemonFiles(t, inc) {
			if names[f.Name] {
				t.Errorf("%s: %s twice", inc.ID, f.Name)
			}
			names[f.Name] = true
			if !daemonFile.MatchString(f.Name) {
				t.Fatalf("%s: %s is no name of a daemon's log", inc.ID, f.Name)
			}
			text := string(f.Data)
			first, _, _ := strings.Cut(text, "\n")
			switch {
			case strings.HasPrefix(first, "Started up at "):
				seen["started"]++
			case strings.HasPrefix(first, "Rotated at "):
				seen["rotated"]++
				if second := strings.Split(text, "\n")[1]; !strings.HasPrefix(second, "Node ") {
					t.Errorf("%s %s: after a rotation comes %q", inc.ID, f.Name, second)
				}
			default:
				t.Errorf("%s %s begins with %q", inc.ID, f.Name, first)
			}
			last := ""
			for _, l := range strings.Split(text, "\n") {
				if !daemonLine.MatchString(l) {
					t.Fatalf("%s %s: a line %q", inc.ID, f.Name, l[:min(len(l), 200)])
				}
				if len(l) > 2048 {
					seen["glued"]++
				}
				if strings.Contains(l, " =============") {
					seen["marker"]++
				}
				if len(l) > 10 && l[1] == ' ' {
					if last != "" && l[2:4] == "00" && last == "23" {
						seen["midnight"]++
					}
					last = l[2:4]
				}
			}
			if strings.HasSuffix(path.Base(f.Name), ".1") {
				seen["container"]++
			}
			if strings.Contains(f.Name, ".ERROR.") {
				seen["errors"]++
			}
		}
		seen["release "+inc.Spec.AIS.Release]++
		seen["zone "+inc.Spec.AIS.Zone]++
		if inc.Spec.AIS.Packed {
			seen["packed"]++
		}
	}
	want := []string{"started", "rotated", "marker", "midnight", "container", "errors", "packed", "glued", "zone UTC", "zone IST"}
	for _, r := range aiscluster.Releases() {
		want = append(want, "release "+r)
	}
	for _, w := range want {
		if seen[w] == 0 && !testing.Short() {
			t.Errorf("no log has: %s (%v)", w, seen)
		}
	}
}

// A killed daemon loses what it had not written out, and says nothing of its end.
func TestAKilledDaemonSaysNothingOfItsEnd(t *testing.T) {
	n := 0
	for _, spec := range Grid(40*len(Mechanisms(storageLine)), 9, storageLine) {
		if spec.Mechanism != "ais-crash" || spec.AIS.Variant%4 == 3 {
			continue
		}
		if n++; n > 6 {
			return
		}
		inc := generate(t, spec)
		lives := 0
		for _, f := range daemonFiles(t, inc) {
			if strings.Contains(f.Name, "-"+inc.Truth.Storage.Targets[0]+"/") && strings.Contains(f.Name, ".INFO.") {
				if bytes.Contains(f.Data, []byte("Terminated")) || bytes.Contains(f.Data, []byte("Shutting down")) || bytes.Contains(f.Data, []byte("FATAL")) {
					t.Errorf("%s: %s tells of an end", inc.ID, f.Name)
				}
				if bytes.HasPrefix(f.Data, []byte("Started up")) {
					lives++
				}
			}
		}
		if lives == 0 {
			t.Errorf("%s: the daemon did not start anew", inc.ID)
		}
	}
	if n == 0 {
		t.Error("no daemon was killed")
	}
}
