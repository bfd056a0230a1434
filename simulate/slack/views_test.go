package slack_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// trigger makes a user run the command and returns the trigger_id that came with it.
func trigger(t *testing.T, s *slack.Server, bot *app) string {
	t.Helper()
	d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "")
	if err != nil {
		t.Fatal(err)
	}
	e := bot.next()
	bot.ack(e, nil)
	wait(t, d)
	return parse(t, e.Payload).str("trigger_id")
}

// opened is a server with a modal open for Alice.
func opened(t *testing.T) (*slack.Server, *slack.FakeClock, *app, slack.View) {
	t.Helper()
	s, clock := serve(t, nil)
	bot := connect(t, s)
	must(t, s, "views.open", map[string]any{"trigger_id": trigger(t, s, bot), "view": modal()})
	v, err := s.WaitView(soon(t), slack.Alice, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, clock, bot, v
}

func TestATriggerWorksOnceAndForThreeSeconds(t *testing.T) {
	s, clock := serve(t, nil)
	bot := connect(t, s)
	open := func(trigger string) string {
		return call(t, s, "views.open", map[string]any{"trigger_id": trigger, "view": modal()}).str("error")
	}
	once := trigger(t, s, bot)
	late := trigger(t, s, bot)
	clock.Advance(3 * time.Second)
	if e := open(once); e != "" {
		t.Errorf("in time: %s", e)
	}
	if e := open(once); e != "exchanged_trigger_id" {
		t.Errorf("again: %s", e)
	}
	clock.Advance(time.Millisecond)
	if e := open(late); e != "expired_trigger_id" {
		t.Errorf("late: %s", e)
	}
}

func TestTheClientHoldsBackWhatIsIncomplete(t *testing.T) {
	s, _, _, v := opened(t)
	var files []string
	for range 4 {
		id, err := s.Upload(slack.Alice, "a.log", []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, id)
	}
	for _, c := range []struct {
		name   string
		values map[string]any
		block  string
	}{
		{"too many files", map[string]any{"url_a": "https://a.example", "logs_a": files}, "logs"},
		{"a required field is empty", nil, "url"},
		{"no URL", map[string]any{"url_a": "ais.example"}, "url"},
		{"too long", map[string]any{"url_a": "https://a.example", "token_a": "12345678901"}, "token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Submit(slack.Alice, v.ID, c.values)
			var r slack.Refusal
			if !errors.As(err, &r) || r[c.block] == "" {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := s.Submit(slack.Alice, v.ID, map[string]any{"nowhere": "x"}); err == nil {
		t.Error("a value for a field that is not there was taken")
	}
}

func TestASubmissionCarriesTheState(t *testing.T) {
	s, _, bot, v := opened(t)
	id, err := s.Upload(slack.Alice, "node1.log", []byte("a line\n"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Submit(slack.Alice, v.ID, map[string]any{"url": "https://ais.example:8080/100%+", "token_a": "secret",
		"pick_a": "b", "flags_a": []string{"x", "y"}, "logs_a": []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	e := bot.next()
	p := parse(t, e.Payload)
	for path, want := range map[string]string{
		"type": "view_submission", "view.callback_id": "creds", "view.private_metadata": "inv-1", "view.id": v.ID, "user.id": slack.Alice,
		"view.state.values.url.url_a.value":                       "https://ais.example:8080/100%+",
		"view.state.values.token.token_a.value":                   "secret",
		"view.state.values.tls.tls_a.selected_option.value":       "verify",
		"view.state.values.pick.pick_a.selected_option.value":     "b",
		"view.state.values.flags.flags_a.type":                    "checkboxes",
		"view.state.values.pick.pick_a.selected_option.text.text": "Option b",
	} {
		if got := p.str(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	files, _ := p.at("view.state.values.logs.logs_a.files").([]any)
	if len(files) != 1 || answer(files[0].(map[string]any)).str("name") != "node1.log" {
		t.Errorf("files: %v", files)
	}
	info := must(t, s, "files.info", map[string]any{"file": id})
	_, body := get(t, info.str("file.url_private_download"), slack.BotToken)
	if string(body) != "a line\n" {
		t.Errorf("downloaded %q", body)
	}
	bot.ack(e, nil)
	if ack := wait(t, d); !ack.OK || len(s.Views(slack.Alice)) != 0 {
		t.Errorf("%+v; still open: %d", ack, len(s.Views(slack.Alice)))
	}
}

func TestWhatAnAckDoesToAModal(t *testing.T) {
	other := modal()
	other["title"] = map[string]any{"type": "plain_text", "text": "Checking"}
	broken := maps.Clone(other)
	broken["title"] = map[string]any{"type": "plain_text", "text": strings.Repeat("x", 25)}
	for _, c := range []struct {
		name    string
		ack     any
		want    []string // titles of what is open then
		errors  int
		trouble bool
	}{
		{"nothing closes it", nil, nil, 0, false},
		{"an empty object closes it", map[string]any{}, nil, 0, false},
		{"clear closes all", map[string]any{"response_action": "clear"}, nil, 0, false},
		{"errors stay with their fields", map[string]any{"response_action": "errors", "errors": map[string]any{"token": "wrong"}}, []string{"AIS access"}, 1, false},
		{"errors for no field", map[string]any{"response_action": "errors", "errors": map[string]any{"nowhere": "wrong"}}, []string{"AIS access"}, 0, true},
		{"update", map[string]any{"response_action": "update", "view": other}, []string{"Checking"}, 0, false},
		{"push", map[string]any{"response_action": "push", "view": other}, []string{"AIS access", "Checking"}, 0, false},
		{"a broken view", map[string]any{"response_action": "update", "view": broken}, []string{"AIS access"}, 0, true},
		{"nonsense", map[string]any{"response_action": "dance"}, []string{"AIS access"}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _, bot, v := opened(t)
			d, err := s.Submit(slack.Alice, v.ID, map[string]any{"url": "https://a.example"})
			if err != nil {
				t.Fatal(err)
			}
			bot.ack(bot.next(), c.ack)
			ack := wait(t, d)
			var titles []string
			views := s.Views(slack.Alice)
			for _, v := range views {
				titles = append(titles, v.Title())
			}
			if !slices.Equal(titles, c.want) || !ack.OK || (ack.Error != "") != c.trouble {
				t.Fatalf("open: %v, %+v", titles, ack)
			}
			if len(views) > 0 && (len(views[0].Errors) != c.errors || (views[0].Trouble != "") != c.trouble) {
				t.Errorf("%+v", views[0])
			}
		})
	}
}

func TestASubmissionWithoutAckTroublesTheUser(t *testing.T) {
	s, clock, _, v := opened(t)
	d, err := s.Submit(slack.Alice, v.ID, map[string]any{"url": "https://a.example"})
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(3 * time.Second)
	if ack := wait(t, d); ack.OK || s.Views(slack.Alice)[0].Trouble == "" {
		t.Errorf("%+v", ack)
	}
}

func TestUpdatesOfViewsKnowTheHash(t *testing.T) {
	s, _, _, v := opened(t)
	update := func(hash string) answer {
		return call(t, s, "views.update", map[string]any{"view_id": v.ID, "hash": hash, "view": modal()})
	}
	a := update(v.Hash)
	if a["ok"] != true || a.str("view.hash") == v.Hash {
		t.Fatalf("%v", a)
	}
	if a := update(v.Hash); a.str("error") != "hash_conflict" {
		t.Errorf("%v", a)
	}
}

func TestThreeModalsAtMost(t *testing.T) {
	s, _, bot, _ := opened(t)
	push := func() string {
		return call(t, s, "views.push", map[string]any{"trigger_id": trigger(t, s, bot), "view": modal()}).str("error")
	}
	if got := []string{push(), push(), push()}; !slices.Equal(got, []string{"", "", "push_limit_reached"}) {
		t.Errorf("%v", got)
	}
}

func TestClosingIsToldToWhoAsks(t *testing.T) {
	s, _, bot, v := opened(t)
	d, err := s.CloseView(slack.Alice, v.ID, false)
	if err != nil || d == nil {
		t.Fatal(err)
	}
	e := bot.next()
	bot.ack(e, nil)
	if p := parse(t, e.Payload); p.str("type") != "view_closed" || p.at("is_cleared") != false || p.str("view.id") != v.ID {
		t.Errorf("%s", e.Payload)
	}
	wait(t, d)
	if a := call(t, s, "views.update", map[string]any{"view_id": v.ID, "view": modal()}); a.str("error") != "not_found" {
		t.Errorf("a closed view was updated: %v", a)
	}
}

func TestTheHomeTab(t *testing.T) {
	s, _ := serve(t, nil)
	bot := connect(t, s)
	d, err := s.OpenHome(slack.Bob)
	if err != nil {
		t.Fatal(err)
	}
	e := bot.next()
	bot.ack(e, nil)
	wait(t, d)
	if p := parse(t, e.Payload); p.str("event.type") != "app_home_opened" || p.str("event.tab") != "home" {
		t.Errorf("%s", e.Payload)
	}
	must(t, s, "views.publish", map[string]any{"user_id": slack.Bob, "view": map[string]any{"type": "home",
		"blocks": []any{section("My cases"), actions(button("Open", "open", "1"))}}})
	v, ok := s.Home(slack.Bob)
	if !ok || !strings.Contains(s.ViewText(v), "My cases") {
		t.Fatalf("%v %s", ok, s.ViewText(v))
	}
	if d, err = s.ClickInView(slack.Bob, v.ID, slack.Action{Text: "Open"}, nil); err != nil {
		t.Fatal(err)
	}
	e = bot.next()
	bot.ack(e, nil)
	wait(t, d)
	if p := parse(t, e.Payload); p.str("container.type") != "view" || p.str("view.type") != "home" {
		t.Errorf("%s", e.Payload)
	}
}

func TestModalsReadAsText(t *testing.T) {
	s, _, _, v := opened(t)
	want := `┌ AIS access
│ Why we ask
│ Address: [url_text_input]
│ Token (optional): [plain_text_input]
│ TLS: [Option verify | Option skip]
│ Cluster (optional): [Option a | Option b]
│ Flags (optional): [Option x | Option y]
│ Logs (optional): [file_input]
└ [Back] [Send]
`
	if got := s.ViewText(v); got != want {
		t.Errorf("%s", got)
	}
}
