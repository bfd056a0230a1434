package slack

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html.tmpl blocks.html.tmpl page.css page.js icon.svg
var assets embed.FS

// policy lets a page run our own script and nothing else, whatever text it shows.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// reportPolicy lets an uploaded report show itself and run its own script, in an origin of its own.
const reportPolicy = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; font-src data:"

func (s *Server) routePages() {
	s.tmpl = s.template()
	s.mux.HandleFunc("GET /{$}", s.serveRoot)
	s.mux.HandleFunc("GET /view/{channel}", s.serveView)
	s.mux.HandleFunc("GET /view-files/{id}/{name...}", s.serveViewFile)
	for name, kind := range map[string]string{"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"} {
		s.mux.HandleFunc("GET /assets/"+name, func(w http.ResponseWriter, _ *http.Request) {
			raw, err := assets.ReadFile(name)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			_, _ = w.Write(raw) // the browser may have gone
		})
	}
}

// ViewPath is the page of a channel for a user; an empty channel or user means the main ones.
func (s *Server) ViewPath(channel, user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if user == "" {
		if i := slices.IndexFunc(s.team.Users, func(u User) bool { return !u.IsBot }); i >= 0 {
			user = s.team.Users[i].ID
		}
	}
	if channel == "" {
		for _, c := range s.team.Channels {
			if r := s.channels[c.ID]; !c.Archived && r.has(user) && r.has(s.team.BotUser) {
				channel = c.ID
				break
			}
		}
	}
	return "/view/" + url.PathEscape(channel) + "?user=" + url.QueryEscape(user)
}

func (s *Server) serveRoot(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, s.ViewPath("", ""), http.StatusFound)
}

// page is what the template shows.
type page struct {
	Team, Domain, User, UserName, BotName, BotID, Channel, ChannelName string
	Private, Archived, IM, Member                                      bool
	Channels                                                           []link
	Users                                                              []link
	Messages                                                           []shownMessage
	Thread                                                             *thread
	Modal                                                              *shownView
	Home                                                               *shownView
}

type link struct {
	Name, Href string
	Here       bool
	IM         bool
}

type thread struct {
	TS       string
	Messages []shownMessage
	Close    string
}

// shownMessage is a message with what its template needs.
type shownMessage struct {
	Message
	Name, Initial string
	Hue           int
	Bot           bool
	Clock, Date   string
	Body          []span
	Parsed        []shownBlock
	Shown         []*File
	Replies       int
	ThreadHref    string
	Ephemeral     bool
	Pane          bool // in the thread's own column
}

// shownBlock is a block with the message or view that its elements belong to.
type shownBlock struct {
	node
	TS, View string
	Block    string // the block_id around an element
	Err      string // what the bot said about an input
}

type shownView struct {
	View
	Name, Submit, Close string
	Parsed              []shownBlock
}

func (s *Server) serveView(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	p, err := s.page(r.PathValue("channel"), r.URL.Query().Get("user"), r.URL.Query().Get("thread"))
	var out bytes.Buffer
	if err == nil {
		err = s.tmpl.ExecuteTemplate(&out, "page", p)
	}
	s.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = out.WriteTo(w) // the browser may have gone
}

// template has the functions that look names up in this server. The caller holds mu while it runs.
func (s *Server) template() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"str":   func(v any, key string) string { return asNode(v).str(key) },
		"label": func(v any, key string) string { return asNode(v).label(key) },
		"flag":  func(v any, key string) bool { return asNode(v).flag(key) },
		"sub":   func(v any, key string) node { return asNode(v).sub(key) },
		"list":  func(v any, key string) []node { return asNode(v).list(key) },
		"num":   func(v any, key string) int { return element{node: asNode(v)}.number(key) },
		"choices": func(v any) []node {
			return element{node: asNode(v)}.options()
		},
		"text":  func(v any) []span { return s.textSpans(asNode(v)) },
		"rich":  func(v any) []span { return s.richSpans(nodes(v)) },
		"cell":  s.cellSpans,
		"align": align,
		"rows":  func(v any) [][]node { return cells(asNode(v)) },
		"in":    within,
		"file":  func(v any) *File { return s.files[asNode(v).sub("slack_file").str("id")] },
		"href":  fileHref,
		"size":  humanSize,
		"md":    markdown,
		"emoji": emoji,
		"add":   func(a, b int) int { return a + b },
		"has": func(values []node, o node) bool {
			return slices.ContainsFunc(values, func(v node) bool { return v.str("value") == o.str("value") })
		},
	}).ParseFS(assets, "page.html.tmpl", "blocks.html.tmpl"))
}

// asNode returns the object that a template holds in one of its guises.
func asNode(v any) node {
	switch v := v.(type) {
	case node:
		return v
	case map[string]any:
		return v
	case shownBlock:
		return v.node
	}
	return nil
}

// align is how a table wants a column to stand.
func align(table any, column int) string {
	if list := asNode(table).list("column_settings"); column < len(list) {
		return list[column].str("align")
	}
	return ""
}

// within puts an element or a child in the place of the block that it stands in.
func within(outer shownBlock, inner any) shownBlock {
	outer.Block = outer.str("block_id")
	outer.node = asNode(inner)
	return outer
}

// page gathers what a user sees. The caller holds mu.
func (s *Server) page(channel, user, threadTS string) (*page, error) {
	u := s.users[user]
	if u == nil {
		return nil, fmt.Errorf("there is no user %q; the address ends in ?user=U…", user)
	}
	if strings.HasPrefix(channel, "D") {
		s.direct(user)
	}
	r := s.channels[channel]
	if r == nil || (!r.has(user) && (r.Private || r.IM != "")) {
		return nil, fmt.Errorf("%s sees no channel %q", u.RealName, channel)
	}
	p := &page{Team: s.team.TeamName, Domain: s.team.Domain, User: user, UserName: u.RealName, BotName: s.userName(s.team.BotUser), BotID: s.team.BotUser, Channel: r.ID, ChannelName: r.Name,
		Private: r.Private, Archived: r.Archived, IM: r.IM != "", Member: r.has(user)}
	if p.IM {
		p.ChannelName = p.BotName
	}
	for _, c := range s.team.Channels {
		if s.channels[c.ID].has(user) {
			p.Channels = append(p.Channels, link{Name: c.Name, Href: viewHref(c.ID, user, ""), Here: c.ID == channel})
		}
	}
	direct := "D" + user[1:]
	p.Channels = append(p.Channels, link{Name: p.BotName, Href: viewHref(direct, user, ""), Here: channel == direct, IM: true})
	for _, other := range s.team.Users {
		if to := channel; !other.IsBot {
			if p.IM {
				to = "D" + other.ID[1:]
			}
			if target := s.channels[to]; target != nil && !target.has(other.ID) {
				to = s.someChannel(other.ID)
			}
			p.Users = append(p.Users, link{Name: other.RealName, Href: viewHref(to, other.ID, ""), Here: other.ID == user})
		}
	}
	for _, m := range s.seen(channel, user, "") {
		p.Messages = append(p.Messages, s.shown(m, user))
	}
	if threadTS != "" {
		p.Thread = &thread{TS: threadTS, Close: viewHref(channel, user, "")}
		for _, m := range s.seen(channel, user, threadTS) {
			shown := s.shown(m, user)
			shown.Pane = true
			p.Thread.Messages = append(p.Thread.Messages, shown)
		}
	}
	if stack := s.stacks[user]; len(stack) > 0 {
		p.Modal = s.shownView(stack[len(stack)-1])
	}
	if v := s.homes[user]; v != nil && p.IM {
		p.Home = s.shownView(v)
	}
	return p, nil
}

// someChannel is the first channel of a user.
func (s *Server) someChannel(user string) string {
	for _, c := range s.team.Channels {
		if s.channels[c.ID].has(user) {
			return c.ID
		}
	}
	return "D" + user[1:]
}

func viewHref(channel, user, thread string) string {
	q := url.Values{"user": {user}}
	if thread != "" {
		q.Set("thread", thread)
	}
	return "/view/" + url.PathEscape(channel) + "?" + q.Encode()
}

// shown prepares a message for its template.
func (s *Server) shown(m Message, user string) shownMessage {
	name := s.userName(m.User)
	out := shownMessage{Message: m, Name: name, Initial: initial(name), Bot: m.BotID != "", Ephemeral: m.VisibleTo != "", Shown: m.Files}
	for _, c := range m.User {
		out.Hue = (out.Hue*31 + int(c)) % 12
	}
	if at, ok := stampTime(m.TS); ok {
		out.Clock, out.Date = at.Format("15:04"), at.Format("Monday, 2 January 2006, 15:04:05 UTC")
	}
	if m.Blocks == nil {
		out.Body = s.spans(m.Text)
	}
	for _, b := range mustBlocks(m.Blocks) {
		out.Parsed = append(out.Parsed, shownBlock{node: b, TS: m.TS})
	}
	out.ThreadHref, out.Replies = viewHref(m.Channel, user, m.TS), m.ReplyCount
	if m.ThreadTS != "" {
		out.ThreadHref = viewHref(m.Channel, user, m.ThreadTS)
	}
	if m.ReplyCount == 0 { // ephemeral replies make a thread for their reader
		for _, other := range s.channels[m.Channel].messages {
			if other.InThread() && other.ThreadTS == m.TS && other.VisibleTo == user && !other.Deleted {
				out.Replies++
			}
		}
	}
	return out
}

func (s *Server) shownView(v *View) *shownView {
	out := &shownView{View: v.clone(), Name: v.Title(), Submit: v.body.label("submit"), Close: orElse(v.body.label("close"), "Cancel")}
	for _, b := range mustBlocks(v.Blocks) {
		out.Parsed = append(out.Parsed, shownBlock{node: b, View: v.ID, Err: v.Errors[b.str("block_id")]})
	}
	return out
}

func initial(name string) string {
	for _, r := range name {
		return strings.ToUpper(string(r))
	}
	return "?"
}

func stampTime(ts string) (time.Time, bool) {
	seconds, _, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	return time.Unix(n, 0).UTC(), err == nil
}

func fileHref(f *File) string { return "/view-files/" + f.ID + "/" + url.PathEscape(f.Name) }

func humanSize(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1_000_000)
}

// Image says whether a page can show the file as a picture.
func (f *File) Image() bool { return f.isImage() }

// serveViewFile shows an uploaded file to the browser. Pictures and reports show themselves, text is shown as text, and
// everything else is saved.
func (s *Server) serveViewFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.files[r.PathValue("id")]
	var content []byte
	if f != nil && !f.deleted && f.uploaded {
		content = f.content
	}
	s.mu.Unlock()
	if content == nil {
		http.NotFound(w, r)
		return
	}
	kind := "application/octet-stream"
	switch {
	case f.isImage():
		kind = f.Mimetype
	case f.Filetype == "html":
		kind = "text/html; charset=utf-8"
	case strings.HasPrefix(f.Mimetype, "text/") || f.Filetype == "json":
		kind = "text/plain; charset=utf-8"
	default:
		w.Header().Set("Content-Disposition", "attachment")
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", reportPolicy)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(content) // the browser may have gone
}
