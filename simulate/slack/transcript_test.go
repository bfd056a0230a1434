package slack_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/simulate/slack"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the difference. Got:\n%s", name, got)
	}
}

// conversation fills the main channel with one of everything.
func conversation(t *testing.T, s *slack.Server) (head string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/blocks.json")
	if err != nil {
		t.Fatal(err)
	}
	pic := picture(t)
	id, link := announce(t, s, "rank-map.png", len(pic))
	post(t, link, "image/png", "", pic)
	must(t, s, "files.completeUploadExternal", map[string]any{"files": []any{map[string]any{"id": id}}})
	if _, _, err := s.Say(slack.Alice, slack.Training, "", "what broke in 12345? a < b & c"); err != nil {
		t.Fatal(err)
	}
	head = must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "Case 12345"}).str("ts")
	must(t, s, "chat.update", map[string]any{"channel": slack.Training, "ts": head,
		"text": "*Case 12345*: ~a network fault~ storage at <https://ais.example|AIS> for <@" + slack.Alice + ">"})
	blocks := strings.ReplaceAll(string(raw), "FILE_ID", id)
	must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "thread_ts": head, "text": "everything", "blocks": json.RawMessage(blocks)})
	link = must(t, s, "chat.getPermalink", map[string]any{"channel": slack.Training, "message_ts": head}).str("permalink")
	must(t, s, "chat.postEphemeral", map[string]any{"channel": slack.Training, "user": slack.Alice, "text": "see <" + link + ">"})
	report, link := announce(t, s, "report.md", 4)
	post(t, link, "text/markdown", "", []byte("# Hi"))
	must(t, s, "files.completeUploadExternal", map[string]any{"channel_id": slack.Training, "thread_ts": head,
		"files": []any{map[string]any{"id": report, "title": "Full report"}}})
	must(t, s, "reactions.add", map[string]any{"channel": slack.Training, "timestamp": head, "name": "eyes"})
	return head
}

func TestTranscriptsReadWell(t *testing.T) {
	s, _ := serve(t, nil)
	conversation(t, s)
	golden(t, "transcript.txt", s.Transcript(slack.Training))
}

func TestWhoIsCalledIsKnown(t *testing.T) {
	s, _ := serve(t, nil)
	for _, c := range []struct {
		name string
		args map[string]any
		want []string
	}{
		{"plain words", map[string]any{"text": "<not> @channel"}, nil},
		{"everybody", map[string]any{"text": "<!channel> and <!here|here>"}, []string{"@channel", "@here"}},
		{"one person", map[string]any{"text": "<@" + slack.Bob + ">"}, []string{"@Bob Tanaka"}},
		{"a group", map[string]any{"text": "<!subteam^" + slack.OnCall + ">"}, []string{"@oncall"}},
		{"escaped", map[string]any{"text": "&lt;!channel&gt;"}, nil},
		{"blocks count, the fallback does not", map[string]any{"text": "<!channel>", "blocks": []any{section("quiet")}}, nil},
		{"in mrkdwn of a block", map[string]any{"text": "x", "blocks": []any{section("<!everyone>")}}, []string{"@everyone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.args["channel"] = slack.Training
			ts := must(t, s, "chat.postMessage", c.args).str("ts")
			m, _ := s.Find(slack.Training, func(m slack.Message) bool { return m.TS == ts })
			if got := s.Notifies(m); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
