package slack

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/chat"
	"faultline/config"
	"faultline/messages/blockkit"
	sim "faultline/simulate/slack"
)

func modal(text string) blockkit.View {
	return blockkit.View{CallbackID: "x", Title: blockkit.Plain("Title"), Blocks: blockkit.Blocks{blockkit.Section{Text: blockkit.Plain(text)}}}
}

func TestModalsOpenChangeAndExpire(t *testing.T) {
	g := newStage(t, sim.Options{})
	ctx := context.Background()
	trigger := func() string {
		d, err := g.slack.Slash(sim.Alice, sim.Training, "/diagnose", "")
		if err != nil {
			t.Fatal(err)
		}
		a, err := parse(fromCommand, d.Payload(), home{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		return a.in.Trigger
	}
	id, err := g.Client.OpenView(ctx, trigger(), modal("one"))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Client.UpdateView(ctx, id, modal("two")); err != nil {
		t.Fatal(err)
	}
	if v := g.slack.Views(sim.Alice); len(v) != 1 || v[0].ID != id || !strings.Contains(string(v[0].Blocks), "two") {
		t.Errorf("shown: %+v", v)
	}
	late := trigger()
	g.clock.Advance(4 * time.Second)
	if _, err := g.Client.OpenView(ctx, late, modal("late")); !errors.Is(err, chat.ErrTriggerExpired) {
		t.Errorf("a late click: %v", err)
	}
	if _, err := g.Client.OpenView(ctx, trigger(), modal(strings.Repeat("x", 4000))); err == nil || errors.Is(err, chat.ErrTriggerExpired) {
		t.Errorf("an invalid modal: %v", err)
	}
	for _, e := range []*APIError{{Code: "trigger_expired"}, {Code: "exchanged_trigger_id"},
		{Code: "invalid_arguments", Messages: []string{"[ERROR] `trigger_id` expired [json-pointer:/trigger_id]"}}} {
		if !expired(e) {
			t.Errorf("%v is not known as expired", e)
		}
	}
	if expired(&APIError{Code: "invalid_arguments", Messages: []string{"[ERROR] missing required field: title"}}) {
		t.Error("another mistake counts as expired")
	}
}

func TestTheHomeTab(t *testing.T) {
	g := newStage(t, sim.Options{})
	v := modal("my cases")
	v.Submit, v.Close = blockkit.Plain("Send"), blockkit.Plain("Close")
	if err := g.Client.PublishHome(context.Background(), sim.Alice, v); err != nil {
		t.Fatal(err)
	}
	if home, ok := g.slack.Home(sim.Alice); !ok || !strings.Contains(string(home.Blocks), "my cases") {
		t.Errorf("shown: %+v", home)
	}
}

func TestWhatPermissionsDependOnIsAskedOnceAndAgainLater(t *testing.T) {
	g := newStage(t, sim.Options{})
	ctx := context.Background()
	for channel, want := range map[string]chat.ChannelInfo{
		sim.Training: {Name: "training", Member: true},
		sim.Private:  {Name: "training-private", Private: true, Member: true},
		sim.Outside:  {Name: "outside"},
		sim.Archive:  {Name: "old-runs", Archived: true, Member: true},
		sim.Shared:   {Name: "shared-vendor", Shared: true, Member: true},
	} {
		for range 3 {
			if got, err := g.Client.ChannelInfo(ctx, channel); err != nil || got != want {
				t.Errorf("%s: %+v, %v; want %+v", channel, got, err, want)
			}
		}
	}
	if n := g.slack.Calls()["conversations.info"]; n != 4+3 { // where the bot is missing, somebody may invite it at any moment
		t.Errorf("asked %d times", n)
	}
	g.clock.Advance(channelTTL)
	if _, err := g.Client.ChannelInfo(ctx, sim.Training); err != nil || g.slack.Calls()["conversations.info"] != 8 {
		t.Errorf("an old answer is never asked for again: %v", err)
	}
	direct, err := g.Client.Direct(ctx, sim.Alice)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := g.Client.ChannelInfo(ctx, direct); err != nil || !info.Direct || !info.Member {
		t.Errorf("direct messages: %+v %v", info, err)
	}
	for user, want := range map[string]bool{sim.Bob: true, sim.Alice: false} {
		if got, err := g.Client.InGroup(ctx, sim.OnCall, user); err != nil || got != want {
			t.Errorf("%s on call: %v %v", user, got, err)
		}
	}
	if n := g.slack.Calls()["usergroups.users.list"]; n != 1 {
		t.Errorf("asked %d times", n)
	}
	if _, err := g.Client.InGroup(ctx, "S0NONE", sim.Bob); err == nil {
		t.Error("a group that does not exist has no error")
	}
	if info, err := g.Client.ChannelInfo(ctx, "C0NOWHERE1"); err != nil || info != (chat.ChannelInfo{Private: true}) {
		t.Errorf("a channel that Slack hides from the bot: %+v %v", info, err)
	}
	g.slack.AddFault(sim.Fault{Method: "conversations.info", Do: sim.FailBefore})
	if info, err := g.Client.ChannelInfo(ctx, sim.Outside); err == nil {
		t.Errorf("an answer that never came: %+v", info)
	}
}

func TestDownload(t *testing.T) {
	g := newStage(t, sim.Options{})
	ctx, dir := context.Background(), t.TempDir()
	id, err := g.slack.Upload(sim.Alice, "a.log", []byte("hello world"))
	if err != nil {
		t.Fatal(err)
	}
	f, _ := g.slack.File(id)
	path := filepath.Join(dir, "a.log")
	for _, file := range []chat.File{{ID: id, Name: "a.log", URL: f.Download, Bytes: 11}, {ID: id, Name: "a.log"}} {
		if err := g.Client.Download(ctx, file, path, 11); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != "hello world" {
			t.Errorf("downloaded %q", got)
		}
		os.Remove(path)
	}
	for what, err := range map[string]error{
		"too long by its own word": g.Client.Download(ctx, chat.File{Name: "a.log", URL: f.Download, Bytes: 11}, path, 10),
		"too long":                 g.Client.Download(ctx, chat.File{Name: "a.log", URL: f.Download}, path, 10),
		"no such file":             g.Client.Download(ctx, chat.File{ID: "F0", Name: "a.log"}, path, 10),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	g.slack.SetScopes(sim.BotToken, "chat:write")
	if err := g.Client.Download(ctx, chat.File{Name: "a.log", URL: f.Download}, path, 100); err == nil || !strings.Contains(err.Error(), "files:read") {
		t.Errorf("without the scope: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The token goes to Slack and to nobody else, whatever an address in a payload or a redirect says.
func TestTheTokenGoesToSlackOnly(t *testing.T) {
	var stolen []string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stolen = append(stolen, r.Header.Get("Authorization"))
	}))
	defer thief.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	}))
	defer api.Close()
	c := newClient(t, api.URL, nil)
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "x")
	for _, address := range []string{thief.URL + "/f", api.URL + "/f", "file:///etc/passwd", "://", "https://slack.com.evil.example/f", "https://evilslack.com/f",
		"http://files.slack.com/f", "https://files.slack.com:8443/f", "https://user@files.slack.com/f", "https://files.slack.com@evil.example/f"} {
		if err := c.Download(ctx, chat.File{Name: "f", URL: address}, path, 100); err == nil {
			t.Errorf("%s: downloaded", address)
		}
	}
	if err := c.call(ctx, "auth.test", url.Values{}, nil); err == nil {
		t.Error("a redirected call succeeded")
	}
	if len(stolen) != 0 {
		t.Errorf("sent to somebody else: %q", stolen)
	}
	for _, address := range []string{"https://files.slack.com/f", "https://hooks.slack-gov.com/x", api.URL + "/hook"} {
		u, _ := url.Parse(address)
		if !c.trusted(u) {
			t.Errorf("%s is Slack's", address)
		}
	}
}

func TestProbe(t *testing.T) {
	g := newStage(t, sim.Options{})
	r, err := g.Client.Probe(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	if r.Team != sim.TeamID || r.User != sim.BotUser || r.Bot == "" || !slices.Contains(r.Granted, "chat:write") || len(r.Missing) != 0 {
		t.Errorf("got %+v", r)
	}
	g.slack.SetScopes(sim.BotToken, "commands", "chat:write")
	r, err = g.Client.Probe(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	var scopes []string
	for _, m := range r.Missing {
		scopes = append(scopes, m.Scope)
		if m.Feature == "" {
			t.Errorf("%s: for what?", m.Scope)
		}
	}
	for _, want := range []string{"files:write", "channels:read or groups:read or im:read", "app_mentions:read", "im:write"} {
		if !slices.Contains(scopes, want) {
			t.Errorf("no word of %s: %q", want, scopes)
		}
	}
	g.slack.SetScopes(sim.AppToken)
	if _, err := g.Client.Probe(context.Background(), true); !isFatal(err) || !strings.Contains(err.Error(), "connections:write") {
		t.Errorf("an app-level token without its scope: %v", err)
	}
}

func isFatal(err error) bool {
	var fatal *FatalError
	return errors.As(err, &fatal)
}

func TestWrongTokensAreNamedInPlainWords(t *testing.T) {
	g := newStage(t, sim.Options{})
	for _, c := range []struct{ bot, app, want string }{
		{"", "xapp-1", "No bot token"},
		{"xoxb-1", "", "No app-level token"},
		{"xapp-1", "xoxb-1", "swapped"},
		{"xapp-1", "xapp-1", "is an app-level token"},
		{"xoxp-1", "xapp-1", "person's token"},
		{"xoxb-1", "xoxb-1", "not an app-level token"},
		{"xoxb-1\n", "xapp-1", "spaces or newlines"},
		{"xoxb-unknown", sim.AppToken, "bot token (slack.bot_token) cannot be used: Slack doesn't recognize it"},
		{sim.BotToken, "xapp-unknown", "app-level token (slack.app_token) cannot be used: Slack doesn't recognize it"},
	} {
		cl, err := NewClient(Config{BotToken: config.Secret(c.bot), AppToken: config.Secret(c.app), APIURL: g.slack.URL() + "/api/"}, NewMetrics(nil), g.Log, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = cl.Probe(context.Background(), true)
		if !isFatal(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v, want %q", c.bot, c.app, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "unknown\"") || strings.Contains(err.Error(), "xoxb-unknown")) {
			t.Errorf("the error quotes the token: %v", err)
		}
	}
}

func TestASlackThatCannotBeReachedIsNotFatal(t *testing.T) {
	c := newClient(t, "http://127.0.0.1:1", nil)
	_, err := c.Probe(context.Background(), true)
	var unsent *NotSentError
	if isFatal(err) || !errors.As(err, &unsent) {
		t.Errorf("got %v", err)
	}
}

// Every method that the look-alike was asked for must be in the table, with a scope that the look-alike accepts for it.
func TestTheTableOfMethodsAgreesWithTheLookAlike(t *testing.T) {
	theirs := sim.MethodScopes()
	for _, m := range Scopes {
		scopes, known := theirs[m.Name]
		if !known {
			t.Errorf("the look-alike does not know %s", m.Name)
			continue
		}
		if got := strings.Join(m.Scopes, "|"); got != scopes {
			t.Errorf("%s: %q here, %q there", m.Name, got, scopes)
		}
		if m.For == "" || m.PerMinute <= 0 {
			t.Errorf("%s is not explained", m.Name)
		}
	}
}

func TestWhatIsCalledIsInTheTable(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.FieldsFunc(string(src), func(r rune) bool { return r == '"' || r == '\n' }) {
			family, method, ok := strings.Cut(word, ".")
			if !ok || !slices.Contains([]string{"chat", "views", "files", "conversations", "usergroups", "users", "auth", "apps"}, family) ||
				strings.ContainsAny(method, " ./:%") || method == "" {
				continue
			}
			if !slices.ContainsFunc(Scopes, func(m Method) bool { return m.Name == word }) {
				t.Errorf("%s: %s is not in the table of methods", name, word)
			}
		}
	}
}

func TestWhatSlackAnswersIsToldApart(t *testing.T) {
	for _, c := range []struct {
		status int
		header string
		body   string
		want   string
	}{
		{200, "", `{"ok":true}`, "ok"},
		{200, "", `{"ok":true,"message":{"blocks":[{"type":"section","text":7}]}}`, "ok"},
		{200, "", `{"ok":false,"error":"invalid_blocks"}`, "invalid_blocks"},
		{200, "", `{"ok":false,"error":"ratelimited"}`, "rate limited"},
		{200, "", `{"ok":false,"error":"fatal_error"}`, "unclear"},
		{200, "", `{"ok":false}`, "unclear"},
		{200, "", `<html>`, "unclear"},
		{200, "", ``, "unclear"},
		{429, "7", ``, "rate limited"},
		{429, "", `{"ok":false}`, "rate limited"},
		{429, "soon", ``, "rate limited"},
		{500, "", ``, "unclear"},
		{503, "", `{"ok":true}`, "unclear"},
		{404, "", ``, "http_404"},
		{302, "", ``, "http_302"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.header != "" {
				w.Header().Set("Retry-After", c.header)
			}
			w.WriteHeader(c.status)
			w.Write([]byte(c.body))
		}))
		err := newClient(t, srv.URL, nil).call(context.Background(), "auth.test", url.Values{}, nil)
		if got := outcome(err); got != c.want {
			t.Errorf("%d %q %q: %s (%v)", c.status, c.header, c.body, got, err)
		}
		srv.Close()
	}
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "0": time.Second, "": unstatedWait, "soon": unstatedWait, "-3": unstatedWait,
		"1e9": maxWait, "NaN": unstatedWait, "1.5": 1500 * time.Millisecond} {
		if got := retryAfter(http.Header{"Retry-After": {header}}); got != want {
			t.Errorf("Retry-After %q: %s", header, got)
		}
	}
}
