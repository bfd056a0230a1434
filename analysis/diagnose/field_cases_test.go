package diagnose

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"faultline/simulate"
)

// The tables of fieldCase are the input of bot eval as well: bench/freeze.sh writes them with this flag.
var casesDir = flag.String("cases", "", "write each fieldCase to a folder of its own in `DIR`, for bot eval, instead of checking it")

var notInName = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// writeCase writes a case as bot eval reads it. The name is that of its test and its own; cases of one name get a number.
func writeCase(t *testing.T, dir, name string, files []simulate.File) {
	t.Helper()
	id := notInName.ReplaceAllString(t.Name()+"-"+name, "-")
	if len(id) > 120 { // a name may be a whole line
		id = id[:120]
	}
	at := filepath.Join(dir, id)
	for i := 2; ; i++ {
		if _, err := os.Stat(at); err != nil {
			break
		}
		at = filepath.Join(dir, fmt.Sprintf("%s-%d", id, i))
	}
	text, err := json.Marshal(map[string]string{"id": filepath.Base(at), "title": name})
	if err != nil {
		t.Fatal(err)
	}
	for file, data := range caseFiles(files, text) {
		to := filepath.Join(at, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func caseFiles(files []simulate.File, text []byte) map[string][]byte {
	out := map[string][]byte{"case.json": text}
	for _, f := range files {
		out[filepath.Join("logs", f.Name)] = f.Data
	}
	return out
}
