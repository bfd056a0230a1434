package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"faultline/config"
	"faultline/fetch/spool"
)

const secret = config.Secret("0123456789abcdef0123")

// bench is a bot and somebody who pushes to it.
type bench struct {
	*Handler
	client  *Client
	arrived []string
	now     time.Time
	dir     string
	calls   []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{now: time.Unix(1795216200, 0), dir: t.TempDir()}
	taken := filepath.Join(b.dir, "taken")
	s, err := spool.Open(taken, spool.Options{Max: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b.Handler = &Handler{
		Secrets: map[string][]config.Secret{"west": {"an-older-secret", secret}, "mute": nil}, Spool: s, Files: 100, Bytes: 32 << 20,
		Shelf: &Shelf{Dir: filepath.Join(b.dir, "pushed"), Content: func(sum string) (string, error) { return spool.Path(taken, sum) }},
		Keep:  func(string) time.Duration { return time.Hour }, Now: func() time.Time { return b.now }, Log: slog.New(slog.DiscardHandler),
		Arrived: func(_ context.Context, cluster, job string) error {
			b.arrived = append(b.arrived, cluster+"/"+job)
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.calls = append(b.calls, r.Method)
		b.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.client = &Client{Base: server.URL, Cluster: "west", Token: Token{Key: secret}, HTTP: server.Client(), Now: func() time.Time { return b.now },
		Sleep: func(context.Context, time.Duration) error { return nil }, Piece: 1000}
	return b
}

func (b *bench) file(t *testing.T, name, text string) Local {
	t.Helper()
	at := filepath.Join(b.dir, name)
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Local{File: File{Name: name, Path: "/home/alice/" + name}, At: at}
}

func TestASecondPushAdds(t *testing.T) {
	b := newBench(t)
	o := Offer{Job: "77", User: "alice", Host: "login1"}
	for _, name := range []string{"error-77-0.out", "error-77-1.out"} {
		if _, left, err := b.client.Send(t.Context(), o, []Local{b.file(t, name, name)}); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
	}
	list, err := b.Shelf.Of("west", "77")
	if err != nil || len(list) != 1 || len(list[0].Files) != 2 {
		t.Fatalf("%+v %v", list, err)
	}
}

func TestWhatIsThereIsNotSentAgainAndACutGoesOnWhereItWas(t *testing.T) {
	b := newBench(t)
	o := Offer{Job: "77", User: "alice", Host: "login1"}
	f := b.file(t, "error-77-0.out", strings.Repeat("step 1\n", 1000)) // 7 pieces
	ctx, cancel := context.WithCancel(t.Context())
	b.client.Progress = func(done, _ int64) {
		if done >= 3000 {
			cancel()
		}
	}
	if _, _, err := b.client.Send(ctx, o, []Local{f}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if list, err := b.Shelf.Of("west", "77"); err != nil || len(list) != 0 {
		t.Fatalf("half a push counts: %+v %v", list, err)
	}
	b.Handler.offers = nil // the bot was started again
	b.client.Progress, b.calls = nil, nil
	if _, _, err := b.client.Send(t.Context(), o, []Local{f}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.calls, " "); got != "POST PUT PUT PUT PUT POST" {
		t.Errorf("it began anew: %s", got)
	}
	b.calls = nil
	a, _, err := b.client.Send(t.Context(), o, []Local{f, b.file(t, "empty.out", ""), b.file(t, "copy.out", strings.Repeat("step 1\n", 1000))})
	if err != nil || a.Files != 3 || a.Bytes != 14000 || a.Keep != time.Hour {
		t.Fatal(a, err)
	}
	if got := strings.Join(b.calls, " "); got != "POST PUT POST" {
		t.Errorf("it was sent again: %s", got)
	}
	list, err := b.Shelf.Of("west", "77")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	for _, f := range list[0].Files {
		at, err := list[0].Content(f)
		text, rerr := os.ReadFile(at)
		if err != nil || rerr != nil || int64(len(text)) != f.Size {
			t.Errorf("%s: %v %v", f.Name, err, rerr)
		}
	}
	if len(b.arrived) != 2 || b.arrived[0] != "west/77" {
		t.Errorf("%q", b.arrived)
	}
}

func TestASumAloneGivesNobodyAContent(t *testing.T) {
	b := newBench(t)
	secretLog := b.file(t, "private.out", "what nobody else may read\n")
	if _, _, err := b.client.Send(t.Context(), Offer{Job: "77", User: "alice"}, []Local{secretLog}); err != nil {
		t.Fatal(err)
	}
	full, err := measure(t.Context(), secretLog)
	if err != nil {
		t.Fatal(err)
	}
	o := Offer{Job: "78", User: "mallory", Files: []File{full}}
	text, _ := json.Marshal(o)
	a, err := b.client.call(t.Context(), http.MethodPost, "78/offer", text)
	if err != nil || a.Here[full.SHA256] != 0 {
		t.Errorf("it is said to be here: %+v %v", a, err)
	}
	for _, piece := range []string{"", "x", strings.Repeat("x", int(full.Size))} {
		_, err = b.client.once(t.Context(), http.MethodPut, "78/"+full.SHA256+"?at=0", []byte(piece))
		_ = err
		if _, err := b.client.once(t.Context(), http.MethodPost, "78/done", text); err == nil {
			t.Fatalf("%q counts as it", piece)
		}
	}
}

func TestOnlyWhoKnowsTheSecretIsHeard(t *testing.T) {
	b := newBench(t)
	f := []Local{b.file(t, "a.out", "one\n")}
	for name, c := range map[string]struct {
		change func(c *Client)
		want   string
	}{
		"the secret":               {func(*Client) {}, ""},
		"an old one":               {func(c *Client) { c.Token.Key = "an-older-secret" }, ""},
		"one of a user":            {func(c *Client) { c.Token = Token{"alice", UserKey(secret, "alice")} }, ""},
		"one of another user":      {func(c *Client) { c.Token = Token{"bob", UserKey(secret, "alice")} }, "the secret is wrong"},
		"a wrong one":              {func(c *Client) { c.Token.Key = "another" }, "the secret is wrong"},
		"none":                     {func(c *Client) { c.Token.Key = "" }, "the secret is wrong"},
		"another cluster":          {func(c *Client) { c.Cluster = "east" }, "the secret is wrong"},
		"a cluster without a one":  {func(c *Client) { c.Cluster = "mute" }, "the secret is wrong"},
		"a clock that is late":     {func(c *Client) { c.Now = func() time.Time { return b.now.Add(-6 * time.Minute) } }, "the clocks differ"},
		"a clock that is a little": {func(c *Client) { c.Now = func() time.Time { return b.now.Add(4 * time.Minute) } }, ""},
	} {
		client := *b.client
		c.change(&client)
		_, _, err := client.Send(t.Context(), Offer{Job: "77", User: "alice"}, f)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What was signed cannot be used for anything else.
	var seen *http.Request
	b.client.HTTP.Transport = recorder{&seen, b.client.HTTP.Transport}
	if _, err := b.client.once(t.Context(), http.MethodPost, "77/offer", []byte(`{"job":"77","files":[]}`)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*http.Request){
		"another job":    func(r *http.Request) { r.URL.Path = "/push/west/78/offer" },
		"another method": func(r *http.Request) { r.Method = http.MethodPut },
		"another body":   func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"job":"77","files":null}`)) },
		"another user":   func(r *http.Request) { r.Header.Set(headerUser, "bob") },
		"another time":   func(r *http.Request) { r.Header.Set(headerTime, strconv.FormatInt(b.now.Unix()+1, 10)) },
	} {
		r := seen.Clone(t.Context())
		r.Body, r.ContentLength, r.RequestURI = io.NopCloser(strings.NewReader(`{"job":"77","files":[]}`)), -1, ""
		change(r)
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		if w.Code == http.StatusOK {
			t.Errorf("%s is taken", name)
		}
	}
}

type recorder struct {
	seen **http.Request
	http.RoundTripper
}

func (r recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	*r.seen = q.Clone(context.Background())
	return r.RoundTripper.RoundTrip(q)
}

func TestBounds(t *testing.T) {
	b := newBench(t)
	b.Bytes, b.Files = 10_000, 3
	o := Offer{Job: "77", User: "alice"}
	for name, c := range map[string]struct {
		files []Local
		want  string
	}{
		"a large file": {[]Local{b.file(t, "large.out", strings.Repeat("x", 20_000))}, "limits.job_mb"},
		"many files":   {[]Local{b.file(t, "1", "1"), b.file(t, "2", "2"), b.file(t, "3", "3"), b.file(t, "4", "4")}, "limits.job_files"},
		"no file":      {[]Local{{File: File{Path: "/home/alice/gone"}, At: filepath.Join(b.dir, "gone")}}, "no files to send"},
	} {
		if _, _, err := b.client.Send(t.Context(), o, c.files); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Nor by several pushes.
	for i := range 2 {
		name := fmt.Sprint(i)
		_, _, err := b.client.Send(t.Context(), o, []Local{b.file(t, name, strings.Repeat(name, 6000))})
		if (err != nil) != (i == 1) {
			t.Errorf("push %d: %v", i, err)
		}
	}
	// What was not offered is not taken.
	if _, err := b.client.once(t.Context(), http.MethodPut, "77/"+strings.Repeat("0", 64)+"?at=0", []byte("x")); err == nil {
		t.Error("what was not offered is taken")
	}
}

func TestASpoolWithoutRoomIsSaid(t *testing.T) {
	b := newBench(t)
	s, err := spool.Open(filepath.Join(b.dir, "small"), spool.Options{Max: 1000, Used: func(context.Context) ([]string, error) { return b.Shelf.Used() }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b.Spool = s
	_, _, err = b.client.Send(t.Context(), Offer{Job: "77", User: "alice"}, []Local{b.file(t, "a.out", strings.Repeat("x", 2000))})
	if err == nil || !strings.Contains(err.Error(), "limits.spool_mb") {
		t.Error(err)
	}
}

func TestRunsAndMachinesAreKeptApart(t *testing.T) {
	b := newBench(t)
	send := func(o Offer, name, text string) {
		t.Helper()
		o.Job, o.User = "77", "alice"
		if _, _, err := b.client.Send(t.Context(), o, []Local{b.file(t, name, text)}); err != nil {
			t.Fatal(err)
		}
	}
	send(Offer{Host: "node01"}, "worker.log", "from node01\n")
	send(Offer{Host: "node02"}, "worker.log", "from node02\n")      // its own disk
	send(Offer{Host: "node01"}, "worker.log", "from node01 anew\n") // written over
	send(Offer{Host: "node02"}, "shared.log", "one\n")
	send(Offer{Host: "login1"}, "shared.log", "one\ntwo\n") // it grew
	send(Offer{Host: "node01", Restart: 1}, "worker.log", "the next run\n")
	list, err := b.Shelf.Of("west", "77")
	if err != nil || len(list) != 2 || list[0].Restart != 1 || len(list[0].Files) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	var got []string
	for _, f := range list[1].Files {
		at, err := list[1].Content(f)
		text, rerr := os.ReadFile(at)
		if err != nil || rerr != nil {
			t.Fatal(err, rerr)
		}
		got = append(got, f.Host+" "+strings.TrimSpace(string(text)))
	}
	if want := "login1 one\ntwo|node01 from node01 anew|node02 from node02"; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
	if err := b.Shelf.Clean(func(string) time.Time { return b.now }); err != nil {
		t.Fatal(err)
	}
	if sums, err := b.Shelf.Used(); err != nil || len(sums) != 4 {
		t.Errorf("%q %v", sums, err)
	}
	if err := b.Shelf.Clean(func(string) time.Time { return b.now.Add(time.Second) }); err != nil {
		t.Fatal(err)
	}
	if list, err := b.Shelf.Of("west", "77"); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestWhatWasPushedIsForgottenOnce(t *testing.T) {
	b := newBench(t)
	if _, _, err := b.client.Send(t.Context(), Offer{Job: "77", User: "alice"}, []Local{b.file(t, "a.out", "one\n")}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if had, err := b.Shelf.Forget("west", "77"); err != nil || had != want {
			t.Errorf("%v %v", had, err)
		}
	}
	if sums, err := b.Shelf.Used(); err != nil || len(sums) != 0 {
		t.Errorf("%q %v", sums, err)
	}
}

func TestAFileThatChangesIsSentAsItIsThen(t *testing.T) {
	b := newBench(t)
	f := b.file(t, "a.out", strings.Repeat("old\n", 1000))
	once := false
	b.client.Progress = func(int64, int64) {
		if !once {
			once = true
			b.file(t, "a.out", strings.Repeat("new\n", 1000))
		}
	}
	if _, _, err := b.client.Send(t.Context(), Offer{Job: "77", User: "alice"}, []Local{f}); err != nil {
		t.Fatal(err)
	}
	list, err := b.Shelf.Of("west", "77")
	if err != nil || len(list) != 1 {
		t.Fatal(err)
	}
	at, _ := list[0].Content(list[0].Files[0])
	if text, err := os.ReadFile(at); err != nil || string(text) != strings.Repeat("new\n", 1000) {
		t.Errorf("%.20q %v", text, err)
	}
}

func TestOthersThanTheBotAreToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		"a page": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "doesn't respond like the bot"},
		"a proxy": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>bad gateway", http.StatusBadGateway)
		}, "502 Bad Gateway, which isn't the bot"},
		"an empty {": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }, "is this the bot's URL?"},
	} {
		b := newBench(t)
		server := httptest.NewServer(http.HandlerFunc(c.answer))
		b.client.Base = server.URL
		if _, _, err := b.client.Send(t.Context(), Offer{Job: "77"}, []Local{b.file(t, "a", "x")}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
}

// Whatever an offer says, what is made of it stays where it is put.
func FuzzOffer(f *testing.F) {
	sum := strings.Repeat("a", 64)
	f.Add([]byte(`{"job":"77","files":[{"name":"../../etc/passwd","path":"/a/../../b","size":3,"sha256":"` + sum + `"}]}`))
	f.Add([]byte(`{"job":"77","notes":["a\nb"],"files":[{"name":"\u0000<!channel>","path":"","size":0,"sha256":"` + sum + `"}]}`))
	f.Add([]byte(`{"job":"77","files":[{"name":"` + strings.Repeat("a", 9) + ".." + "/" + strings.Repeat("b", maxName-3) + `","size":0,"sha256":"` + sum + `"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var o Offer
		if json.Unmarshal(text, &o) != nil || !o.clean("77") {
			return
		}
		for _, x := range o.Files {
			if strings.HasPrefix(x.Name, "/") || slices.Contains(strings.Split(x.Name, "/"), "..") || x.Name == "" || len(x.Name) > maxName || x.Size < 0 {
				t.Errorf("%q", x.Name)
			}
			if x.Path != "" && filepath.Clean(x.Path) != x.Path {
				t.Errorf("%q", x.Path)
			}
			for _, r := range x.Name + x.Path + x.Owner + x.Host {
				if !unicode.IsPrint(r) {
					t.Errorf("%q", x.Name)
				}
			}
		}
		if len(o.Notes) > maxNotes || strings.ContainsAny(strings.Join(o.Notes, ""), "\n\r") {
			t.Errorf("%q", o.Notes)
		}
	})
}
