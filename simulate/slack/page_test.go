package slack_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"faultline/simulate/slack"
)

// look fetches the page of the main channel as Alice sees it.
func look(t *testing.T, s *slack.Server, query string) string {
	t.Helper()
	resp, body := get(t, s.URL()+s.ViewPath("", "")+query, "")
	if resp.StatusCode != http.StatusOK || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "script-src 'self'") {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	if bad := regexp.MustCompile(`ZgotmplZ|&lt;nil&gt;|<no value>|\(MISSING\)`).FindString(string(body)); bad != "" {
		t.Errorf("the template could not show something: %s", bad)
	}
	return string(body)
}

// contains looks for each text in a page whose white space does not matter.
func contains(t *testing.T, html string, want ...string) {
	t.Helper()
	html = strings.Join(strings.Fields(html), " ")
	for _, w := range want {
		if !strings.Contains(html, w) {
			t.Errorf("the page lacks %s", w)
		}
	}
}

func TestThePageShowsEveryBlock(t *testing.T) {
	s, _ := serve(t, nil)
	head := conversation(t, s)
	html := look(t, s, "&thread="+head)
	contains(t, html,
		`<h3 class="block header">Rank 37 of 128 &lt;b&gt;stopped&lt;/b&gt;</h3>`,
		`<code class="">rank 37</code>`, `100%&#43; &lt;safe&gt;`,
		`<hr class="block">`,
		`<span class="b ">Chain of causes</span> for <span class="mention user">@Alice Meyer</span>`,
		`<ol class="indent0" start="1">`, `<ul class="indent1">`, `<span class="strike">the writer waited</span>`,
		`<a href="https://example.com/a?b=c" target="_blank" rel="noopener noreferrer" class="">node1.log:17</a>`,
		`<pre>[rank37]: RuntimeError: &lt;script&gt;alert(1)&lt;/script&gt; *no* `+"`markup`"+` &lt;!channel&gt;</pre>`,
		`<blockquote>a quote</blockquote>`,
		`<caption>Timeline</caption>`, `<th scope="col" class="">Rank</th>`, `<td class="">stopped &lt;i&gt;</td>`,
		`alt="Rank 37 is behind all others" width="4" height="3"`,
		`class="button primary" data-press="provide"`, `data-ctitle="Skip?"`, `<option value="gcp">gcp</option>`,
		`Full report`, `<span>👀 1</span>`, `Only visible to you`,
		`<span class="edited">(edited)</span>`,
	)
	if strings.Contains(html, "<script>alert") || strings.Contains(html, "<i>") {
		t.Error("text became markup")
	}
	if strings.Contains(look(t, s, ""), "Chain of causes") {
		t.Error("a reply is shown in the channel")
	}
	_, bob := get(t, s.URL()+"/view/"+slack.Training+"?user="+slack.Bob, "")
	if strings.Contains(string(bob), "Only visible to you") {
		t.Error("Bob sees what is for Alice only")
	}
}

func TestThePageShowsModals(t *testing.T) {
	s, _, bot, v := opened(t)
	d, err := s.Submit(slack.Alice, v.ID, map[string]any{"url": "https://a.example"})
	if err != nil {
		t.Fatal(err)
	}
	bot.ack(bot.next(), map[string]any{"response_action": "errors", "errors": map[string]any{"token": "Wrong <token>"}})
	wait(t, d)
	contains(t, look(t, s, ""), `<h2>AIS access</h2>`, `data-view="`+v.ID+`"`, `<button type="submit" class="button primary">Send</button>`,
		`data-field="url_a" type="url"`, `<input type="radio" name="tls_a" value="verify" checked>`, `<option value="b">Option b</option>`,
		`<input type="checkbox" value="x">`, `<input type="file" id="logs" data-field="logs_a" data-max="3" multiple>`,
		`data-error>Wrong &lt;token&gt;</p>`)
}

func TestThePageKeepsSecretsOfOthers(t *testing.T) {
	s, _ := serve(t, nil)
	for _, path := range []string{"/view/" + slack.Secret + "?user=" + slack.Bob, "/view/C0NOWHERE?user=" + slack.Bob, "/view/" + slack.Training,
		"/view/D0ALICE001?user=" + slack.Bob} {
		if resp, _ := get(t, s.URL()+path, ""); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	if resp, _ := get(t, s.URL()+"/", ""); resp.StatusCode != http.StatusFound || resp.Header.Get("Location") != "/view/"+slack.Training+"?user="+slack.Alice {
		t.Errorf("%d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	for _, path := range []string{"/assets/page.css", "/assets/page.js", "/assets/icon.svg"} {
		if resp, body := get(t, s.URL()+path, ""); resp.StatusCode != http.StatusOK || len(body) == 0 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

func TestUploadedPagesCannotReachTheSimulation(t *testing.T) {
	s, _ := serve(t, nil)
	for name, want := range map[string]string{"report.html": "text/html", "x.json": "text/plain", "x.svg": "application/octet-stream", "x.bin": "application/octet-stream"} {
		id, err := s.Upload(slack.Alice, name, []byte("<script>fetch('/sim/cut')</script>"))
		if err != nil {
			t.Fatal(err)
		}
		resp, _ := get(t, s.URL()+"/view-files/"+id+"/"+name, "")
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), want) || !strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: %v", name, resp.Header)
		}
	}
}

func TestMarkupInText(t *testing.T) {
	s, _ := serve(t, nil)
	for _, c := range []struct{ text, want string }{
		{"*bold* _it_ ~gone~ `co*d*e`", `<span class="b ">bold</span> <span class="i ">it</span> <span class="strike">gone</span> <code class="">co*d*e</code>`},
		{"a*b*c 2*3*4", `a*b*c 2*3*4`},
		{"<javascript:alert(1)|x>", `&lt;javascript:alert(1)|x&gt;`},
		{"&lt;b&gt; &amp;amp;", `&lt;b&gt; &amp;amp;`},
		{"<!here> <#" + slack.Outside + ">", `<span class="mention notify">@here</span> <span class="mention channel">#outside</span>`},
		{"```a\nb```", `<code class="">a b</code>`},
	} {
		ts := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": c.text}).str("ts")
		html := strings.Join(strings.Fields(look(t, s, "")), " ")
		if !strings.Contains(html, `<div class="text">`+c.want+`</div>`) {
			at := strings.Index(html, ts)
			t.Errorf("%q is shown as %s", c.text, html[at:min(len(html), at+600)])
		}
	}
}
