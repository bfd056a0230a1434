// Package console is the conversation in a terminal: the same investigation, the same questions, as in a chat.
package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"faultline/incident"
	"faultline/messages"
	"faultline/workflow"
)

// Console is one conversation. It is the Poster of its flow: set Flow.Post to it.
type Console struct {
	Out  io.Writer
	Flow *workflow.Flow
	// Brief writes what decides, on one screen; Render writes the whole report.
	Brief, Render func(w io.Writer, r *incident.Report) error
	// Keep, if set, stores the report for a browser and says where.
	Keep func(job string, r *incident.Report) (where string, err error)
	// Lookup explains a term; known lists the terms there are.
	Lookup func(term string) (text string, known []string)
	// Hosts expands a host list.
	Hosts func(list string) ([]string, error)
	// Storage takes accesses to storage logs; nil: they can only be given as files. Profiles are the configured ones by name.
	Storage  Storage
	Profiles []string
	// Hide turns what the terminal shows of what is typed off, for a secret, and on again; nil: nothing is typed on a terminal.
	Hide func(hidden bool)
	// Prompt stands before each line that a person types. Echo repeats the typed lines, for input that is not typed.
	Prompt string
	Echo   bool
	// Width is where paragraphs are wrapped, in columns; 0 means nowhere. Commands and paths are never broken.
	Width int

	current string // id of the investigation that answers belong to
	opened  int
	form    *form // the access that is being typed
}

// maxLine bounds a typed line; a path is shorter on every system.
const maxLine = 64 << 10

// errQuit ends the conversation.
var errQuit = errors.New("quit")

// Run reads lines until the input ends, somebody quits, or the context ends.
func (c *Console) Run(ctx context.Context, in io.Reader) error {
	defer c.hide(false)
	typed := make(chan string)
	ended := make(chan error, 1)
	go func() {
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxLine)
		for scanner.Scan() {
			select {
			case typed <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
		ended <- scanner.Err()
	}()
	for {
		fmt.Fprint(c.Out, c.Prompt)
		select {
		case text := <-typed:
			if secret := c.form != nil && c.form.field == messages.FieldToken; c.Echo && !secret {
				fmt.Fprintln(c.Out, printable(text))
			}
			err := c.Line(ctx, text)
			if errors.Is(err, errQuit) {
				return nil
			}
			if err != nil {
				return err
			}
		case err := <-ended:
			fmt.Fprintln(c.Out)
			if err != nil {
				return fmt.Errorf("reading what was typed: %w", err)
			}
			return nil
		case <-ctx.Done():
			fmt.Fprintln(c.Out)
			return ctx.Err()
		}
	}
}

// Line handles one typed line. An error means that the conversation cannot go on; whatever a person can fix is said.
func (c *Console) Line(ctx context.Context, text string) error {
	if c.form != nil {
		return c.settle(ctx, c.answer(ctx, text))
	}
	words, err := split(text)
	if err != nil {
		c.say("%v", err)
		return nil
	}
	if len(words) == 0 {
		return nil
	}
	if cmd, ok := find(words[0]); ok {
		return c.settle(ctx, cmd.do(c, ctx, words[1:]))
	}
	// Whatever else is typed while logs would help is taken as the place of logs.
	if c.current != "" {
		return c.settle(ctx, c.give(ctx, words))
	}
	c.say("Unknown command %q. Type /diagnose JOBID to start, or help.", printable(words[0]))
	return nil
}

// settle turns what a person can fix into words.
func (c *Console) settle(ctx context.Context, err error) error {
	var refused *workflow.NotAllowedError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused):
		row, _ := workflow.About(refused.State)
		c.say("That isn't possible right now: I'm %s. Type status to see what is open.", row.Doing)
		return nil
	}
	return err
}

// Say implements workflow.Poster.
func (c *Console) Say(_ context.Context, _, text string) error {
	c.say("%s", printable(text))
	return nil
}

// Report implements workflow.Poster.
func (c *Console) Report(ctx context.Context, id string, r *incident.Report) error {
	fmt.Fprintln(c.Out)
	if err := c.Brief(c.Out, r); err != nil {
		return fmt.Errorf("showing the report: %w", err)
	}
	fmt.Fprintln(c.Out)
	for _, rev := range r.Revisions {
		c.say("Was:     %s\nNow:     %s\nBecause: %s\n", printable(rev.Was), printable(rev.Now), printable(rev.Because))
	}
	c.say("%d of %d quotations re-read in the files. Type report for the full report: events, timeline, rank map, groups.",
		r.Verification.Quotes.Held, r.Verification.Quotes.Checked)
	if c.Keep == nil {
		return nil
	}
	where, err := c.Keep(id, r)
	if err != nil { // the report was shown: a full disk is worth a sentence, not the end
		c.say("I couldn't save the HTML report: %v", err)
		return nil
	}
	c.say("HTML report: %s", where)
	return nil
}

// Ask implements workflow.Poster.
func (c *Console) Ask(_ context.Context, _ string, q workflow.Question) error {
	mark := "?"
	if q.Perishing {
		mark = "? (won't be kept for long: get it now)"
	}
	c.say("%s %s", mark, printable(q.Text))
	for _, item := range q.Items {
		fmt.Fprintf(c.Out, "    - %s\n", printable(item))
	}
	for _, command := range q.Commands {
		fmt.Fprintf(c.Out, "    $ %s\n", printable(command))
	}
	switch q.Kind {
	case workflow.AskLogs:
		c.say("  Type the path here. (Type why? for the reason.)")
	case workflow.AskJob:
		c.say("  Type: job ID")
	case workflow.AskAccess:
		if c.Storage != nil {
			c.say("  Type: access (I'll ask for the URL, token and certificate), access env (AIS_ENDPOINT, AIS_AUTHN_TOKEN, … are set here) or access NAME. %s", c.configured())
		}
		c.say("  Or: storage-logs PATH if you have fetched them; or skip. (Type why? for the reason.)")
	case workflow.AskMissing:
		c.say("  Type the path of the missing logs, or skip if you don't have them. The report stands either way. (Type why? for the reason.)")
	case workflow.AskEvidence:
		c.say("  Type its path, or skip if you don't have it and I'll suggest what else would settle it. The report stands either way. (Type why? for the reason.)")
	}
	return nil
}

// say writes one paragraph, wrapped where there is a space to wrap at.
func (c *Console) say(format string, args ...any) {
	for _, text := range strings.Split(fmt.Sprintf(format, args...), "\n") {
		fmt.Fprintln(c.Out, wrap(text, c.Width))
	}
}

// printable shows text that may come from a log or a file name without letting it reach the terminal's controls.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == '\uFFFD' || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return '·'
		}
		return r
	}, s)
}
