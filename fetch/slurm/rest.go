package slurm

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// REST asks slurmrestd.
type REST struct {
	// URL is the address, such as https://slurm.example.org:6820.
	URL string
	// TokenFile holds the JWT, alone or as `scontrol token` prints it (SLURM_JWT=…). It is read for each request: tokens
	// live for half an hour and something writes new ones.
	TokenFile string
	// User is sent along with tokens that are issued for somebody else; "" = the token's own.
	User   string
	Client *http.Client // NewClient
	// Now is for sentences about old tokens; nil = none.
	Now func() time.Time

	mu   sync.Mutex
	have *versions
}

// versions are the newest paths that this package knows, of those that the server has.
type versions struct{ db, ctl string }

// known are the versions of the interface whose forms were looked at, newest first. A server that has only newer ones is
// asked by its oldest, which is nearest to these.
var known = func() []string {
	var list []string
	for n := 45; n >= 35; n-- {
		list = append(list, fmt.Sprintf("v0.0.%d", n))
	}
	return list
}()

// NewClient is a client that follows no redirect: a token goes where it was meant to go, or nowhere. caFile "" = the
// authorities of this machine.
func NewClient(caFile string) (*http.Client, error) {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ResponseHeaderTimeout: commandTime,
		TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: 2, IdleConnTimeout: time.Minute,
	}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("the CA certificate: %w", err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the CA certificate: %s contains none", caFile)
		}
	}
	return &http.Client{Transport: t, Timeout: 2 * commandTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

func (r *REST) String() string {
	if u, err := url.Parse(r.URL); err == nil {
		return "slurmrestd at " + u.Host
	}
	return "slurmrestd"
}

// errNoSuch is an answer of 404 without a reason.
var errNoSuch = errors.New("no such path")

// unknownJob is SLURM's ESLURM_INVALID_JOB_ID.
const unknownJob = 2017

func (r *REST) get(ctx context.Context, path string) (tree, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(r.URL, "/")+path, nil)
	if err != nil {
		return tree{}, fmt.Errorf("%s: %w", r, err)
	}
	if err := r.sign(req); err != nil {
		return tree{}, err
	}
	res, err := r.Client.Do(req)
	if err != nil {
		return tree{}, fmt.Errorf("%s isn't responding: %w", r, withoutURL(err))
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return tree{}, fmt.Errorf("%s cut off its response: %w", r, err)
	}
	if len(raw) > maxAnswer {
		return tree{}, fmt.Errorf("%s returned more than %d bytes", r, maxAnswer)
	}
	t, bad := parseTree(raw)
	number, words := firstError(t)
	switch {
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden || strings.HasPrefix(string(raw), "Authentication failure"):
		return tree{}, fmt.Errorf("%s rejects the token in %s%s: write a new one there with `scontrol token`", r, r.TokenFile, r.age())
	case number == unknownJob:
		return tree{}, fmt.Errorf("%w (%s)", ErrUnknown, r)
	case res.StatusCode == http.StatusNotFound:
		return tree{}, fmt.Errorf("%s: %w: %s", r, errNoSuch, path)
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return tree{}, fmt.Errorf("%s redirects elsewhere (%d), and I don't send tokens there: configure the final URL", r, res.StatusCode)
	case res.StatusCode != http.StatusOK:
		return tree{}, fmt.Errorf("%s answered %d: %q", r, res.StatusCode, oneLine(words))
	case bad != nil:
		return tree{}, fmt.Errorf("%s: %w", r, bad)
	case number != 0:
		return tree{}, fmt.Errorf("%s: error %d %q", r, number, oneLine(words))
	}
	return t, nil
}

// withoutURL drops the address that net/http puts in front, which sentences say already.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func firstError(t tree) (int, string) {
	for _, e := range t.at("errors").list() {
		n := e.at("error_number|error_code").count()
		text := firstText(e.at("description"), e.at("error"))
		if n == None && text == "" {
			continue
		}
		return max(n, 0), text
	}
	return 0, ""
}

// sign reads the token and sets the headers.
func (r *REST) sign(req *http.Request) error {
	if r.TokenFile == "" {
		return nil
	}
	raw, err := os.ReadFile(r.TokenFile)
	if err != nil {
		return fmt.Errorf("%s: can't read the token: %w", r, err)
	}
	token := strings.TrimPrefix(strings.TrimSpace(string(raw)), "SLURM_JWT=")
	if token == "" || strings.ContainsAny(token, " \r\n\t") {
		return fmt.Errorf("%s: %s doesn't contain exactly one token", r, r.TokenFile)
	}
	req.Header.Set("X-SLURM-USER-TOKEN", token)
	// 22.05 takes no token without the name, also where the token itself says it.
	if user := cmp.Or(r.User, userIn(token)); user != "" {
		req.Header.Set("X-SLURM-USER-NAME", user)
	}
	return nil
}

// userIn is the account that a token was issued for; "" where it does not say. Whether that is true is the server's to judge.
func userIn(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	t, err := parseTree(raw)
	if err != nil {
		return ""
	}
	user := firstText(t.at("sun"), t.at("username"))
	if strings.ContainsAny(user, " \t\r\n:") {
		return ""
	}
	return user
}

func (r *REST) age() string {
	st, err := os.Stat(r.TokenFile)
	if err != nil || r.Now == nil {
		return ""
	}
	return fmt.Sprintf(", written %s ago", r.Now().Sub(st.ModTime()).Truncate(time.Minute))
}

var versionInPath = regexp.MustCompile(`^/(slurm|slurmdb)/(v[0-9]+\.[0-9]+\.[0-9]+)/job/`)

// discover asks once which versions there are.
func (r *REST) discover(ctx context.Context) (versions, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.have != nil {
		return *r.have, nil
	}
	t, err := r.get(ctx, "/openapi/v3")
	if errors.Is(err, errNoSuch) {
		t, err = r.get(ctx, "/openapi")
	}
	if err != nil {
		return versions{}, err
	}
	found := map[string][]string{}
	paths, _ := t.at("paths").v.(map[string]any)
	for p := range paths {
		if m := versionInPath.FindStringSubmatch(p); m != nil {
			found[m[1]] = append(found[m[1]], m[2])
		}
	}
	v := versions{db: newest(found["slurmdb"]), ctl: newest(found["slurm"])}
	if v.db == "" && v.ctl == "" {
		return versions{}, fmt.Errorf("%s: %w: /openapi/v3 lists neither /slurm/ nor /slurmdb/", r, errShape)
	}
	r.have = &v
	return v, nil
}

// newest is the newest version that is known, else the oldest that is not.
func newest(have []string) string {
	for _, v := range known {
		if slices.Contains(have, v) {
			return v
		}
	}
	if len(have) == 0 {
		return ""
	}
	return slices.MinFunc(have, func(a, b string) int { return patch(a) - patch(b) })
}

func patch(v string) int {
	n, err := strconv.Atoi(v[strings.LastIndexByte(v, '.')+1:])
	if err != nil {
		return 0
	}
	return n
}

// Jobs implements Backend.
func (r *REST) Jobs(ctx context.Context, id ID) ([]Job, error) {
	v, err := r.discover(ctx)
	if err != nil {
		return nil, err
	}
	var jobs []Job
	if v.db != "" {
		var t tree
		if t, err = r.get(ctx, "/slurmdb/"+v.db+"/job/"+id.master()); err == nil {
			jobs = assemble(dbRecords(t), "slurmrestd", t.release())
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(jobs) > 0 && settledAndWhole(jobs) || v.ctl == "" {
			return r.answer(jobs, id, err)
		}
	}
	t, liveErr := r.get(ctx, "/slurm/"+v.ctl+"/job/"+id.master())
	if liveErr != nil {
		if err == nil && v.db == "" {
			err = liveErr
		}
		return r.answer(jobs, id, err)
	}
	live := assemble(liveRecords(t), "slurmrestd", t.release())
	if len(jobs) > 0 {
		complement(jobs, live)
		return r.answer(jobs, id, nil)
	}
	for i := range live {
		live[i].Notes = append(live[i].Notes, "The accounting has no answer for this job, so its steps and earlier runs are unknown.")
	}
	return r.answer(live, id, nil)
}

func (r *REST) answer(jobs []Job, id ID, err error) ([]Job, error) {
	if len(jobs) == 0 {
		if err == nil {
			err = fmt.Errorf("%w: %s shows no job %s (it may show it only to its owner)", ErrUnknown, r, id)
		}
		return nil, err
	}
	for i := range jobs {
		if jobs[i].Release > 0 && jobs[i].Release < exitsBelieved {
			jobs[i].Notes = append(jobs[i].Notes, fmt.Sprintf("SLURM %d.%02d doesn't report exit codes over slurmrestd, so they are left out.", jobs[i].Release/100, jobs[i].Release%100))
		}
	}
	return only(jobs, id)
}

// fewNodes is up to how many nodes are asked for one by one.
const fewNodes = 4

// Nodes implements Backend.
func (r *REST) Nodes(ctx context.Context, nodes []string) (string, error) {
	v, err := r.discover(ctx)
	if err != nil || v.ctl == "" {
		return "", err
	}
	wanted := map[string]bool{}
	for _, n := range nodes {
		wanted[n] = true
	}
	found := map[string]string{}
	if len(nodes) <= fewNodes {
		for _, n := range nodes {
			t, err := r.get(ctx, "/slurm/"+v.ctl+"/node/"+url.PathEscape(n))
			if err != nil {
				return "", err
			}
			for name, text := range nodeText(t, wanted) {
				found[name] = text
			}
		}
	} else {
		t, err := r.get(ctx, "/slurm/"+v.ctl+"/nodes/")
		if err != nil {
			return "", err
		}
		found = nodeText(t, wanted)
	}
	var b strings.Builder
	for _, n := range nodes {
		if found[n] != "" {
			b.WriteString(found[n] + "\n\n")
		}
	}
	return b.String(), nil
}

// Script implements Backend. Most versions do not tell it.
func (r *REST) Script(ctx context.Context, id ID) (string, error) {
	v, err := r.discover(ctx)
	if err != nil || v.db == "" {
		return "", err
	}
	t, err := r.get(ctx, "/slurmdb/"+v.db+"/job/"+id.master())
	if err != nil {
		return "", err
	}
	for _, j := range t.at("jobs").list() {
		if s, _ := j.at("script").v.(string); strings.HasPrefix(s, "#!") {
			return s[:min(len(s), maxScript)], nil
		}
	}
	return "", fmt.Errorf("%w's batch script", ErrUnknown)
}

// Answers implements Backend.
func (r *REST) Answers(ctx context.Context) error {
	_, err := r.discover(ctx)
	return err
}

// Deaths implements Backend.
func (r *REST) Deaths(ctx context.Context, from, to time.Time) ([]Death, error) {
	v, err := r.discover(ctx)
	if err != nil {
		return nil, err
	}
	if v.db == "" {
		return nil, fmt.Errorf("%s: %w: there is no accounting", r, errShape)
	}
	q := url.Values{"start_time": {"uts" + strconv.FormatInt(from.Unix(), 10)}, "end_time": {"uts" + strconv.FormatInt(to.Unix(), 10)}, "state": {"FAILED,NODE_FAIL,TIMEOUT,OUT_OF_MEMORY,BOOT_FAIL,DEADLINE"}}
	t, err := r.get(ctx, "/slurmdb/"+v.db+"/jobs/?"+q.Encode())
	if err != nil {
		return nil, err
	}
	return deaths(slices.DeleteFunc(dbRecords(t), func(r Record) bool { return !badly[State(r.State)] || State(r.State) == cancelled }), from, to), nil
}
