package slack_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/simulate/slack"
)

func TestErrorsAreSlacks(t *testing.T) {
	s, _ := serve(t, func(o *slack.Options) {
		o.Workspace = slack.DefaultWorkspace()
		o.Workspace.Tokens = append(o.Workspace.Tokens, slack.Token{Value: "xoxb-poor", Scopes: []string{"commands"}},
			slack.Token{Value: "xoxb-revoked", Revoked: true})
	})
	ts := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "head"}).str("ts")
	reply := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "reply", "thread_ts": ts}).str("ts")
	alices, _, err := s.Say(slack.Alice, slack.Training, "", "hello")
	if err != nil {
		t.Fatal(err)
	}
	to := func(channel string, more ...any) map[string]any {
		args := map[string]any{"channel": channel, "text": "x"}
		for i := 0; i < len(more); i += 2 {
			args[more[i].(string)] = more[i+1]
		}
		return args
	}
	for _, c := range []struct {
		name, method, token string
		args                map[string]any
		want                string
	}{
		{"unknown method", "chat.shout", slack.BotToken, nil, "unknown_method"},
		{"no token", "auth.test", "", nil, "not_authed"},
		{"wrong token", "auth.test", "xoxb-wrong", nil, "invalid_auth"},
		{"revoked token", "auth.test", "xoxb-revoked", nil, "token_revoked"},
		{"app token for the bot", "chat.postMessage", slack.AppToken, to(slack.Training), "not_allowed_token_type"},
		{"bot token for sockets", "apps.connections.open", slack.BotToken, nil, "not_allowed_token_type"},
		{"scope", "chat.postMessage", "xoxb-poor", to(slack.Training), "missing_scope"},
		{"no such channel", "chat.postMessage", slack.BotToken, to("C0NOWHERE"), "channel_not_found"},
		{"private channel without the bot", "chat.postMessage", slack.BotToken, to(slack.Secret), "channel_not_found"},
		{"public channel without the bot", "chat.postMessage", slack.BotToken, to(slack.Outside), "not_in_channel"},
		{"archived", "chat.postMessage", slack.BotToken, to(slack.Archive), "is_archived"},
		{"nothing to say", "chat.postMessage", slack.BotToken, map[string]any{"channel": slack.Training}, "no_text"},
		{"no such thread", "chat.postMessage", slack.BotToken, to(slack.Training, "thread_ts", "1.000001"), "thread_not_found"},
		{"reply to a reply", "chat.postMessage", slack.BotToken, to(slack.Training, "thread_ts", reply), "cannot_reply_to_message"},
		{"metadata without type", "chat.postMessage", slack.BotToken, to(slack.Training, "metadata", map[string]any{"event_payload": map[string]any{}}), "invalid_metadata_format"},
		{"metadata nested", "chat.postMessage", slack.BotToken, to(slack.Training, "metadata", map[string]any{"event_type": "x",
			"event_payload": map[string]any{"a": map[string]any{"b": map[string]any{}}}}), "invalid_metadata_format"},
		{"blocks no list", "chat.postMessage", slack.BotToken, to(slack.Training, "blocks", map[string]any{}), "invalid_blocks_format"},
		{"file that is not there", "chat.postMessage", slack.BotToken, to(slack.Training, "blocks", []any{map[string]any{
			"type": "image", "alt_text": "x", "slack_file": map[string]any{"id": "F0NONE"}}}), "invalid_blocks"},
		{"update of another's message", "chat.update", slack.BotToken, to(slack.Training, "ts", alices.TS), "cant_update_message"},
		{"update of nothing", "chat.update", slack.BotToken, to(slack.Training, "ts", "1.000001"), "message_not_found"},
		{"update too long", "chat.update", slack.BotToken, to(slack.Training, "ts", ts, "text", strings.Repeat("x", 4001)), "msg_too_long"},
		{"delete of another's message", "chat.delete", slack.BotToken, to(slack.Training, "ts", alices.TS), "cant_delete_message"},
		{"ephemeral for a stranger", "chat.postEphemeral", slack.BotToken, to(slack.Training, "user", slack.Mallory), "user_not_in_channel"},
		{"ephemeral for nobody", "chat.postEphemeral", slack.BotToken, to(slack.Training, "user", "U0NOBODY"), "user_not_found"},
		{"trigger unknown", "views.open", slack.BotToken, map[string]any{"trigger_id": "1.2", "view": modal()}, "invalid_trigger_id"},
		{"view unknown", "views.update", slack.BotToken, map[string]any{"view_id": "V1", "view": modal()}, "not_found"},
		{"file unknown", "files.info", slack.BotToken, map[string]any{"file": "F1"}, "file_not_found"},
		{"user unknown", "users.info", slack.BotToken, map[string]any{"user": "U1"}, "user_not_found"},
		{"group unknown", "usergroups.users.list", slack.BotToken, map[string]any{"usergroup": "S1"}, "no_such_subteam"},
		{"history where the bot is not", "conversations.history", slack.BotToken, map[string]any{"channel": slack.Outside}, "not_in_channel"},
		{"thread unknown", "conversations.replies", slack.BotToken, map[string]any{"channel": slack.Training, "ts": "1.000001"}, "thread_not_found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw, err := json.Marshal(c.args)
			if err != nil {
				t.Fatal(err)
			}
			resp, body := post(t, s.URL()+"/api/"+c.method, "application/json", c.token, raw)
			a := parse(t, body)
			if resp.StatusCode != http.StatusOK || a["ok"] != false || a.str("error") != c.want {
				t.Errorf("status %d, %v; want %s", resp.StatusCode, a, c.want)
			}
		})
	}
}

func TestAMissingScopeIsNamed(t *testing.T) {
	s, _ := serve(t, nil)
	s.SetScopes(slack.BotToken, "commands", "files:write")
	resp, body := post(t, s.URL()+"/api/chat.postMessage", "application/json", slack.BotToken, []byte(`{"channel":"C","text":"x"}`))
	a := parse(t, body)
	if a.str("needed") != "chat:write" || a.str("provided") != "commands,files:write" {
		t.Errorf("%v", a)
	}
	if got := resp.Header.Get("X-OAuth-Scopes"); got != "commands,files:write" {
		t.Errorf("X-OAuth-Scopes: %q", got)
	}
}

func TestTheKindOfChannelDecidesTheScope(t *testing.T) {
	s, _ := serve(t, nil)
	s.SetScopes(slack.BotToken, "channels:read")
	if a := call(t, s, "conversations.info", map[string]any{"channel": slack.Training}); a["ok"] != true {
		t.Errorf("public: %v", a)
	}
	if a := call(t, s, "conversations.info", map[string]any{"channel": slack.Private}); a.str("needed") != "groups:read" {
		t.Errorf("private: %v", a)
	}
}

func TestTextSurvivesAsFormAndAsJSON(t *testing.T) {
	s, _ := serve(t, nil)
	text := "100% of 8+8 ranks: a=b&c; %20 \\n é 🙂 \u202e <x>"
	must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": text})
	blocks, _ := json.Marshal([]any{section("50% + 1")})
	a := form(t, s, "chat.postMessage", url.Values{"token": {slack.BotToken}, "channel": {slack.Training}, "text": {text}, "blocks": {string(blocks)}})
	if a["ok"] != true {
		t.Fatal(a)
	}
	list := s.All(slack.Training)
	if len(list) != 2 || list[0].Text != text || list[1].Text != text || !strings.Contains(string(list[1].Blocks), "50% + 1") {
		t.Errorf("%q", texts(list))
	}
}

func TestTimestampsNeverRepeat(t *testing.T) {
	s, clock := serve(t, nil)
	seen := map[string]bool{}
	last := ""
	for range 50 {
		ts := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "x"}).str("ts")
		if seen[ts] || ts <= last || len(ts) != len("1732158000.000000") {
			t.Fatalf("%s after %s", ts, last)
		}
		seen[ts], last = true, ts
	}
	clock.Advance(-time.Hour) // a clock that goes back must not matter
	if ts := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "x"}).str("ts"); ts <= last {
		t.Errorf("%s after %s", ts, last)
	}
}

func TestInvalidBlocksSayWhere(t *testing.T) {
	s, _ := serve(t, nil)
	a := call(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "x",
		"blocks": []any{section("fine"), section(strings.Repeat("x", 3001))}})
	got, _ := a.at("response_metadata.messages").([]any)
	if a.str("error") != "invalid_blocks" || len(got) != 1 || !strings.HasSuffix(got[0].(string), "[json-pointer:/blocks/1/text/text]") {
		t.Errorf("%v", a)
	}
	long := []any{}
	for range 10 {
		long = append(long, section(strings.Repeat("y", 1500)))
	}
	if a := call(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "x", "blocks": long}); a.str("error") != "msg_blocks_too_long" {
		t.Errorf("%v", a)
	}
	if len(s.All(slack.Training)) != 0 {
		t.Error("a refused message was posted")
	}
}

func TestLongTextIsCutWithAWarning(t *testing.T) {
	s, _ := serve(t, nil)
	a := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": strings.Repeat("é", 40_010)})
	if a.str("warning") != "message_truncated" {
		t.Errorf("no warning: %v", a["warning"])
	}
	if n := len([]rune(s.All(slack.Training)[0].Text)); n != 40_000 {
		t.Errorf("%d characters left", n)
	}
}

func TestUpdateReplacesWhatWasGiven(t *testing.T) {
	s, _ := serve(t, nil)
	meta := map[string]any{"event_type": "post", "event_payload": map[string]any{"key": "1"}}
	ts := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "a", "blocks": []any{section("block a")}, "metadata": meta}).str("ts")
	update := func(more map[string]any) slack.Message {
		more["channel"], more["ts"] = slack.Training, ts
		must(t, s, "chat.update", more)
		return s.All(slack.Training)[0]
	}
	m := update(map[string]any{"text": "b", "blocks": []any{section("block b")}})
	if m.Edited != nil || m.Edits != 1 || !strings.Contains(string(m.Blocks), "block b") || len(m.Metadata) == 0 {
		t.Errorf("with blocks: %+v", m)
	}
	if m = update(map[string]any{"text": "c"}); m.Blocks != nil || m.Text != "c" || m.Edited == nil {
		t.Errorf("text without blocks takes the blocks away: %+v", m)
	}
	if m.TS != ts {
		t.Errorf("ts changed to %s", m.TS)
	}
}

func TestThreadsHistoryAndMetadata(t *testing.T) {
	s, _ := serve(t, nil)
	meta := map[string]any{"event_type": "post", "event_payload": map[string]any{"key": "k1", "ranks": []int{1, 2}}}
	head := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "head", "metadata": meta}).str("ts")
	must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "one", "thread_ts": head})
	must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "two", "thread_ts": head, "reply_broadcast": true})
	must(t, s, "chat.postEphemeral", map[string]any{"channel": slack.Training, "text": "psst", "user": slack.Alice})
	must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "other"})

	read := func(method string, args map[string]any) (out []string, a answer) {
		args["channel"] = slack.Training
		a = must(t, s, method, args)
		for _, m := range a["messages"].([]any) {
			out = append(out, answer(m.(map[string]any)).str("text"))
		}
		return out, a
	}
	if got, _ := read("conversations.history", map[string]any{}); !slices.Equal(got, []string{"other", "two", "head"}) {
		t.Errorf("history: %v", got)
	}
	got, a := read("conversations.replies", map[string]any{"ts": head, "include_all_metadata": true})
	if !slices.Equal(got, []string{"head", "one", "two"}) {
		t.Errorf("replies: %v", got)
	}
	first := answer(a["messages"].([]any)[0].(map[string]any))
	if first.str("metadata.event_payload.key") != "k1" || first["reply_count"] != 2.0 || first.str("thread_ts") != head {
		t.Errorf("head: %v", first)
	}
	if _, a := read("conversations.replies", map[string]any{"ts": head}); answer(a["messages"].([]any)[0].(map[string]any))["metadata"] != nil {
		t.Error("metadata came without being asked for")
	}
	page, a := read("conversations.replies", map[string]any{"ts": head, "limit": 2})
	rest, _ := read("conversations.replies", map[string]any{"ts": head, "limit": 2, "cursor": a.str("response_metadata.next_cursor")})
	if a["has_more"] != true || !slices.Equal(page, []string{"head", "one"}) || !slices.Equal(rest, []string{"two"}) {
		t.Errorf("pages: %v, %v", page, rest)
	}
}

func TestEphemeralMessagesAreForOnePerson(t *testing.T) {
	s, _ := serve(t, nil)
	must(t, s, "chat.postEphemeral", map[string]any{"channel": slack.Training, "text": "psst", "user": slack.Alice})
	if got := texts(s.Messages(slack.Training, slack.Alice, "")); !slices.Equal(got, []string{"psst"}) {
		t.Errorf("Alice sees %v", got)
	}
	if got := s.Messages(slack.Training, slack.Bob, ""); len(got) != 0 {
		t.Errorf("Bob sees %v", got)
	}
}

func TestDeletingTheHeadOfAThreadLeavesATombstone(t *testing.T) {
	s, _ := serve(t, nil)
	head := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "head"}).str("ts")
	reply := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "reply", "thread_ts": head}).str("ts")
	must(t, s, "chat.delete", map[string]any{"channel": slack.Training, "ts": head})
	if list := s.All(slack.Training); len(list) != 2 || list[0].Subtype != "tombstone" {
		t.Errorf("%+v", list)
	}
	must(t, s, "chat.delete", map[string]any{"channel": slack.Training, "ts": reply})
	if a := call(t, s, "chat.delete", map[string]any{"channel": slack.Training, "ts": reply}); a.str("error") != "message_not_found" {
		t.Errorf("deleted twice: %v", a)
	}
}

func TestDirectMessagesArePerUser(t *testing.T) {
	s, _ := serve(t, nil)
	id := must(t, s, "conversations.open", map[string]any{"users": slack.Alice}).str("channel.id")
	a := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Alice, "text": "hello"})
	if id == "" || a.str("channel") != id || s.Direct(slack.Alice) != id {
		t.Errorf("%s, %v", id, a)
	}
	info := must(t, s, "conversations.info", map[string]any{"channel": id})
	if info.at("channel.is_im") != true || info.str("channel.user") != slack.Alice {
		t.Errorf("%v", info)
	}
}

func TestWhoIsAStrangerIsSaid(t *testing.T) {
	s, _ := serve(t, nil)
	a := must(t, s, "users.info", map[string]any{"user": slack.Mallory})
	if a.at("user.is_stranger") != true || a.str("user.team_id") == slack.TeamID {
		t.Errorf("%v", a)
	}
	if a := must(t, s, "conversations.info", map[string]any{"channel": slack.Shared}); a.at("channel.is_ext_shared") != true {
		t.Errorf("%v", a)
	}
}

func TestEveryMethodHasItsScope(t *testing.T) {
	scopes := slack.MethodScopes()
	for method, scope := range map[string]string{"chat.postMessage": "chat:write", "apps.connections.open": "connections:write",
		"files.completeUploadExternal": "files:write", "files.info": "files:read", "views.open": "", "auth.test": "",
		"conversations.open": "im:write", "users.info": "users:read", "usergroups.users.list": "usergroups:read",
		"conversations.replies": "channels:history|groups:history|im:history"} {
		if got, ok := scopes[method]; !ok || got != scope {
			t.Errorf("%s: %q, want %q", method, got, scope)
		}
	}
}
