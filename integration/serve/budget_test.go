package serve

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The own words that people are asked to read: of the case file, and of what one verdict adds to the thread. Quoted lines and commands,
// in boxes, and buttons are apart.
const (
	caseBudget      = 90
	decidedBudget   = 400
	undecidedBudget = 250
	decidedPosts    = 4
	undecidedPosts  = 5 // two questions
)

var (
	messageHead = regexp.MustCompile(`^\s*\[\d+(?:\.\d+)?\] (\w+)(.*)$`)
	ownPost     = regexp.MustCompile(`^(# |\(table\)|.*: done\.|Run: bash)`) // not an answer to what somebody gave or asked
	aButtonRow  = regexp.MustCompile(`^\s*\[[^\]]+\]`)
	aWord       = regexp.MustCompile(`[A-Za-z0-9]`)
)

// A thread is what is said of one case: its case file, and the verdicts in its thread, each with what follows it.
type readThread struct {
	file     int
	verdicts []readVerdict
}

type readVerdict struct {
	words, posts int
	decided      bool
	corrected    bool // so far only the correction was read, which belongs to the verdict that follows
}

func TestThreadsKeepTheirBudgets(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatal(err, len(files))
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(f), ".txt")
		for _, th := range readThreads(string(b)) {
			if th.file > caseBudget {
				t.Errorf("%s: the case file has %d words, at most %d", name, th.file, caseBudget)
			}
			for i, v := range th.verdicts {
				most, posts := undecidedBudget, undecidedPosts
				if v.decided {
					most, posts = decidedBudget, decidedPosts
				}
				if v.posts > posts {
					t.Errorf("%s: verdict %d has %d posts in its thread, at most %d", name, i+1, v.posts, posts)
				}
				t.Logf("%s: case file %d, verdict %d: %d words in %d posts", name, th.file, i+1, v.words, v.posts)
				if v.words > most {
					t.Errorf("%s: verdict %d has %d words in its thread, at most %d", name, i+1, v.words, most)
				}
			}
		}
	}
}

// readThreads counts the words of a transcript. What only one person sees is an answer to that person, and no post of the thread.
func readThreads(transcript string) (list []*readThread) {
	var th *readThread
	words, first := new(int), false
	for l := range strings.Lines(transcript) {
		l = strings.TrimRight(l, "\n")
		if m := messageHead.FindStringSubmatch(l); m != nil {
			words, first = new(int), true
			switch reply := strings.HasPrefix(l, "    "); {
			case m[1] != "Faultline", strings.Contains(m[2], "only "):
				first = false
			case !reply:
				th = &readThread{}
				list = append(list, th)
				words = &th.file
			case th != nil:
				if len(th.verdicts) == 0 {
					th.verdicts = append(th.verdicts, readVerdict{})
				}
			}
			continue
		}
		text := strings.TrimSpace(l)
		if first && th != nil && strings.HasPrefix(l, "    ") && ownPost.MatchString(text) {
			v := &th.verdicts[len(th.verdicts)-1]
			v.posts++
			words = &v.words
		}
		first = false
		if th != nil && strings.HasPrefix(l, "    ") && (strings.HasPrefix(text, "# 🔴") || strings.HasPrefix(text, "# 🟡") || strings.HasPrefix(text, "# 🟢") || strings.HasPrefix(text, "# Corrected")) {
			v := &th.verdicts[len(th.verdicts)-1]
			if (v.words > 0 || v.posts > 1) && !v.corrected {
				v.posts--
				th.verdicts = append(th.verdicts, readVerdict{posts: 1})
				v = &th.verdicts[len(th.verdicts)-1]
				words = &v.words
			}
			if v.corrected = strings.HasPrefix(text, "# Corrected"); !v.corrected {
				v.decided = !strings.HasPrefix(text, "# 🟡")
			}
		}
		if strings.HasPrefix(text, "| ") && !strings.Contains(text, " | ") || aButtonRow.MatchString(l) || strings.HasPrefix(text, "(file)") {
			continue
		}
		for w := range strings.FieldsSeq(text) {
			if aWord.MatchString(w) {
				*words++
			}
		}
	}
	return list
}
