package console

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/chat"
	"faultline/incident"
	"faultline/workflow"
)

// cluster is a storage cluster that takes one access.
type cluster struct {
	got    []chat.Access
	errs   []error // of the tries, in turn
	pulled int
}

func (c *cluster) next() error {
	if len(c.errs) == 0 {
		return nil
	}
	err := c.errs[0]
	c.errs = c.errs[1:]
	return err
}

func (c *cluster) Access(_ context.Context, _ workflow.Investigation, a chat.Access) error {
	c.got = append(c.got, a)
	return c.next()
}

func (c *cluster) Environment(context.Context, workflow.Investigation) ([]string, error) {
	return []string{"AIS_SKIP_VERIFY_CRT is set."}, c.next()
}

func (c *cluster) Fetch(context.Context, workflow.Investigation) (workflow.StorageLogs, error) {
	c.pulled++
	return workflow.StorageLogs{Places: []string{"t1"}, Nodes: 1}, nil
}

// about is an error about a field of an access.
type about struct{ field, text string }

func (a about) Error() string { return a.text }
func (a about) Field() string { return a.field }

// stores sets up a conversation in which the job reads from AIStore.
func stores(store *cluster, hidden *[]bool) func(c *Console) {
	return func(c *Console) {
		c.Storage, c.Profiles, c.Hide = store, []string{"west"}, func(h bool) { *hidden = append(*hidden, h) }
		c.Flow.AskStorage, c.Flow.Storage = true, store
		c.Flow.Daemons = func(_ context.Context, inv workflow.Investigation) (workflow.Collection, error) {
			var got workflow.Collection
			for _, p := range inv.StorageLogs {
				got.Sources = append(got.Sources, incident.Source{Name: "ais-logs/" + filepath.Base(p), Path: p})
			}
			return got, nil
		}
		c.Flow.Engine.Diagnose = func(_ context.Context, in analysis.Input) (*incident.Report, error) {
			r := &incident.Report{Verdict: incident.Verdict{Mechanism: "rank-stalled", Status: incident.Probable}}
			r.Storage.Signs = []incident.StorageSign{{Kind: incident.SignUse, Statement: "the job reads its data from ais://speech",
				Evidence: []incident.Evidence{incident.Quote("0.log", 12, 400, "shards: ais://speech", nil)}}}
			r.Storage.Daemons = make([]incident.StorageDaemon, len(in.Storage))
			return r, nil
		}
	}
}

func TestAccessToTheStorageIsTypedLineByLine(t *testing.T) {
	const secret = "eyJhbGciOiJI.eyJjYW5hcnki.c2ln"
	root := logs(t, "4242/0.log")
	ca := filepath.Join(root, "ca.pem")
	if err := os.WriteFile(ca, []byte("-----BEGIN CERTIFICATE-----"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := &cluster{errs: []error{
		about{"endpoint", "nothing is listening at ais:1"}, about{"token", "the token has expired"}, about{"tls", "the certificate is signed by an unknown authority"}, about{"", "the cluster is starting up"},
	}}
	var hidden []bool
	out := talkTo(t, root, stores(store, &hidden), "/diagnose 4242", "access", "https://ais:1", secret, "", "https://ais:2", secret, "ca "+ca, "", "status")
	inOrder(t, out, "VERDICT rank-stalled", "Can I read the AIStore logs?", "0.log:12: the job reads its data from ais://speech", "ais log get cluster",
		"access NAME. Configured: west.", "URL of an", "Token (input hidden", "How should I verify the cluster's certificate?",
		"That access doesn't work: nothing is listening at ais:1.", "URL of an", "the token has expired.", "Token (input hidden",
		"is signed by an unknown authority.", "How should I verify the cluster's certificate", "the cluster is starting up.", "Press Enter to retry",
		"Fetching its daemons", "I read the logs from 1 storage daemon along with the job's", "done, report posted")
	if strings.Contains(out, "eyJ") {
		t.Error("the token is shown")
	}
	last := store.got[len(store.got)-1]
	if len(store.got) != 5 || last.Endpoint != "https://ais:2" || last.Token != secret || last.TLS != "ca" || !strings.HasPrefix(last.CA, "-----BEGIN") || store.pulled != 1 {
		t.Errorf("%d tries, the last %q %q; pulled %d times", len(store.got), last.Endpoint, last.TLS, store.pulled)
	}
	shown := true
	secretly := 0
	for _, h := range hidden {
		if h {
			secretly++
		}
		shown = !h
	}
	if secretly != 2 || !shown {
		t.Errorf("the terminal was told %v", hidden)
	}
}

func TestOtherWaysToTheStorage(t *testing.T) {
	for name, c := range map[string]struct {
		errs  []error
		lines []string
		want  []string
		tries int
	}{
		"a configured one":        {nil, []string{"access west"}, []string{"I read the logs from 1 storage daemon"}, 1},
		"the environment":         {nil, []string{"access env"}, []string{"AIS_SKIP_VERIFY_CRT is set.", "I read the logs from 1 storage daemon"}, 0},
		"no environment":          {[]error{errors.New("AIS_ENDPOINT is not set")}, []string{"access env", "skip"}, []string{"That access doesn't work: AIS_ENDPOINT is not set."}, 0},
		"an address, no token":    {nil, []string{"access http://ais:1", ""}, []string{"Token", "I read the logs"}, 1},
		"no such":                 {nil, []string{"access east"}, []string{`"east" is neither a configured storage cluster nor a URL`}, 0},
		"a token in the line":     {nil, []string{"access http://ais:1 eyJhbGciOi"}, []string{"Type: access NAME"}, 0},
		"files":                   {nil, []string{"storage-logs ROOT/4242"}, []string{"I read the logs from 1 storage daemon"}, 0},
		"files that are not":      {nil, []string{"storage-logs /nowhere/at/all"}, []string{"/nowhere/at/all"}, 0},
		"skipped":                 {nil, []string{"skip", "status"}, []string{"done, report posted"}, 0},
		"skipped twice":           {nil, []string{"skip", "skip"}, []string{"There is no open question to skip."}, 0},
		"stopped":                 {nil, []string{"access", "stop", "status"}, []string{"Cancelled", "waiting for the storage logs"}, 0},
		"a configured one, twice": {[]error{about{"", "the cluster is starting up"}}, []string{"access west", ""}, []string{"starting up", "Press Enter to retry", "I read the logs from 1"}, 2},
		"stopped at the token":    {nil, []string{"access http://ais:1", "stop", "status"}, []string{"Cancelled", "waiting for the storage logs"}, 0},
		"later":                   {nil, []string{"skip", "access west"}, []string{"I read the logs from 1 storage daemon"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			root := logs(t, "4242/0.log")
			store := &cluster{errs: c.errs}
			lines := []string{"/diagnose 4242"}
			for _, l := range c.lines {
				lines = append(lines, strings.ReplaceAll(l, "ROOT", root))
			}
			var hidden []bool
			inOrder(t, talkTo(t, root, stores(store, &hidden), lines...), append([]string{"Can I read the AIStore logs?"}, c.want...)...)
			if len(store.got) != c.tries {
				t.Errorf("%d tries", len(store.got))
			}
		})
	}
}
