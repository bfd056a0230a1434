package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"faultline/chat"
	"faultline/config"
	"faultline/messages"
	"faultline/workflow"
)

// Storage takes the access to the logs of a storage cluster. The errors are shown to the person.
type Storage interface {
	// Access checks what was given and keeps it in memory, for the investigation's next fetch. An error may name the Field that has
	// to change: endpoint, token or tls.
	Access(ctx context.Context, inv workflow.Investigation, access chat.Access) error
	// Environment does the same with what the variables of the ais command say; it also returns what has to be said about them.
	Environment(ctx context.Context, inv workflow.Investigation) (said []string, err error)
}

// form is an access while it is typed, one line after another.
type form struct {
	access chat.Access
	field  string // the one that the next line is
	// again: only this field is asked for again; the others are there.
	again bool
}

// sameAgain is no field: nothing of the access has to change.
const sameAgain = "again"

// prompts say what a field of the form is.
var prompts = map[string]string{
	messages.FieldEndpoint: "URL of an AIStore proxy, such as https://ais.example.org:51080:",
	messages.FieldToken:    "Token (input hidden; press Enter if the cluster needs none; stop to cancel):",
	messages.FieldTLS:      "How should I verify the cluster's certificate? Press Enter for the system CAs, type ca PATH for a CA file, or skip to disable verification.",
	sameAgain:              "Press Enter to retry; stop to cancel.",
}

// giveAccess begins to take an access: by a configured name, by the environment, or typed.
func (c *Console) giveAccess(ctx context.Context, args []string) error {
	inv, ok, err := c.load(ctx)
	if !ok {
		return err
	}
	if c.Storage == nil {
		c.say("I can't fetch storage logs here. Fetch them with the ais command and type: storage-logs PATH")
		return nil
	}
	if allowed := workflow.Allowed(inv.State); !slices.Contains(allowed, workflow.AISGiven) {
		row, _ := workflow.About(inv.State)
		c.say("That isn't possible right now: I'm %s.", row.Doing)
		return nil
	}
	switch {
	case len(args) > 1:
		c.say("Type: access NAME, access env, access URL, or just access. I'll prompt for the token and hide it.")
		return nil
	case len(args) == 0:
		if len(c.Profiles) > 0 {
			c.say("Configured: %s; type access NAME to avoid typing a token. Or:", strings.Join(c.Profiles, ", "))
		}
		c.ask(&form{field: messages.FieldEndpoint})
		return nil
	case slices.Contains(c.Profiles, args[0]):
		return c.try(ctx, inv, &form{access: chat.Access{Profile: args[0]}})
	case args[0] == "env":
		said, err := c.Storage.Environment(ctx, inv)
		for _, s := range said {
			c.say("%s", printable(s))
		}
		if err != nil {
			return c.refused(ctx, err)
		}
		return c.fetch(ctx, "from the environment")
	case strings.Contains(args[0], "://"):
		f := &form{field: messages.FieldEndpoint}
		c.typed(f, args[0])
		return nil
	}
	c.say("%q is neither a configured storage cluster nor a URL. %s", printable(args[0]), c.configured())
	return nil
}

func (c *Console) configured() string {
	if len(c.Profiles) == 0 {
		return "None is configured here: just type access."
	}
	return "Configured: " + strings.Join(c.Profiles, ", ") + "."
}

// ask asks for the field of a form. A token is not shown while it is typed.
func (c *Console) ask(f *form) {
	c.form = f
	c.hide(f.field == messages.FieldToken)
	c.say("%s", prompts[f.field])
}

func (c *Console) hide(secret bool) {
	if c.Hide != nil {
		c.Hide(secret)
	}
}

// answer takes a line as a field of the form that is open.
func (c *Console) answer(ctx context.Context, text string) error {
	f := c.form
	c.form = nil
	c.hide(false)
	if f.field == messages.FieldToken {
		fmt.Fprintln(c.Out) // the line that was typed is not there
	}
	if strings.EqualFold(strings.TrimSpace(text), "stop") {
		c.say("Cancelled. Type access to try again.")
		return nil
	}
	if !c.typed(f, text) {
		return nil
	}
	inv, ok, err := c.load(ctx)
	if !ok {
		return err
	}
	return c.try(ctx, inv, f)
}

// typed takes what was typed for the field of a form, and asks for the next; true: there is none.
func (c *Console) typed(f *form, text string) bool {
	text = strings.TrimSpace(text)
	switch f.field {
	case messages.FieldEndpoint:
		if text == "" {
			c.say("Type the URL, or stop.")
			c.ask(f)
			return false
		}
		f.access.Endpoint = text
	case messages.FieldToken:
		f.access.Token = config.Secret(text)
	case messages.FieldTLS:
		if !c.certificate(&f.access, text) {
			c.ask(f)
			return false
		}
	}
	next := map[string]string{messages.FieldEndpoint: messages.FieldToken, messages.FieldToken: messages.FieldTLS}[f.field]
	if next == messages.FieldTLS && !strings.HasPrefix(strings.ToLower(f.access.Endpoint), "https:") {
		next = ""
	}
	if next == "" || f.again {
		return true
	}
	f.field = next
	c.ask(f)
	return false
}

// maxCA bounds a file of authorities; the one of a whole operating system has 250 kB.
const maxCA = 1 << 20

// certificate reads the choice of how the certificate is checked.
func (c *Console) certificate(a *chat.Access, text string) bool {
	a.TLS, a.CA = messages.TLSVerify, ""
	word, path, _ := strings.Cut(text, " ")
	switch strings.ToLower(word) {
	case "", "verify":
		return true
	case "skip":
		a.TLS = messages.TLSSkip
		return true
	case "ca":
		words, err := split(path)
		if err != nil || len(words) != 1 {
			c.say("Type: ca PATH")
			return false
		}
		pem, err := readBounded(words[0])
		if err != nil {
			c.say("I can't read that file: %v", err)
			return false
		}
		a.TLS, a.CA = messages.TLSAuthority, pem
		return true
	}
	c.say("Press Enter, or type ca PATH or skip.")
	return false
}

func readBounded(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxCA))
	return string(b), err
}

// try checks an access. What is refused is said, and the field that has to change is asked for again.
func (c *Console) try(ctx context.Context, inv workflow.Investigation, f *form) error {
	err := c.Storage.Access(ctx, inv, f.access)
	if err == nil {
		by := "provided by console"
		if f.access.Profile != "" {
			by = workflow.ByProfile(f.access.Profile)
		}
		return c.fetch(ctx, by)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := c.refused(ctx, err); err != nil {
		return err
	}
	f.field, f.again = sameAgain, true
	var at interface{ Field() string }
	if f.access.Profile == "" && errors.As(err, &at) && prompts[at.Field()] != "" {
		f.field = at.Field()
		c.say("Try again. Or type stop, then storage-logs PATH if you have the logs, or skip:")
	}
	c.ask(f)
	return nil
}

func (c *Console) refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.say("That access doesn't work: %s.", printable(strings.TrimRight(err.Error(), ".")))
	return nil
}

// fetch goes on with an access that was checked.
func (c *Console) fetch(ctx context.Context, by string) error {
	c.say("The cluster answered. Fetching its daemons' logs; this takes a while.")
	return c.handle(ctx, workflow.Input{Event: workflow.AISGiven, Text: by})
}

// storageLogs takes storage logs that somebody has fetched already.
func (c *Console) storageLogs(ctx context.Context, args []string) error {
	places, ok := c.places(args)
	if !ok {
		return nil
	}
	if len(places) == 0 {
		c.say("Which path? Type: storage-logs PATH, with the directory written by ais log get, or its archives.")
		return nil
	}
	return c.handle(ctx, workflow.Input{Event: workflow.AISGiven, Places: places, Text: "uploaded by console"})
}

func (c *Console) skip(ctx context.Context, _ []string) error {
	inv, ok, err := c.load(ctx)
	if !ok {
		return err
	}
	if inv.State != workflow.AwaitingAIS {
		for _, q := range inv.Open {
			if q.Kind == workflow.AskMissing || q.Kind == workflow.AskEvidence {
				return c.Flow.Decline(ctx, c.current, q.ID, "console")
			}
		}
		c.say("There is no open question to skip. The report stands as it is.")
		return nil
	}
	return c.handle(ctx, workflow.Input{Event: workflow.SkipStorage, Text: "skipped by console"})
}
