package login

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/ssh"

	"faultline/fetch/source"
)

// Run implements source.Command. The node's shell reads the line, whichever it is: words with characters that some shell
// takes for its own even between quotes are refused.
func (n *Node) Run(ctx context.Context, argv ...string) (source.Output, error) {
	line, err := quote(argv)
	if err != nil {
		return source.Output{}, &source.Error{Kind: source.Failed, Place: n.name, More: err.Error(), Err: err}
	}
	l, err := n.link(ctx)
	if err != nil {
		return source.Output{}, err
	}
	session, err := do(ctx, l, l.client.NewSession, func(s *ssh.Session) { _ = s.Close() })
	if err != nil {
		return source.Output{}, n.unrun(ctx, argv[0], err)
	}
	defer session.Close()
	var stdout, stderr bounded
	session.Stdout, session.Stderr = &stdout, &stderr
	ended := make(chan error, 1)
	go func() { ended <- session.Run(line) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = session.Signal(ssh.SIGKILL) // most servers ignore it; closing is what they hear
		_ = session.Close()
		return source.Output{}, context.Cause(ctx)
	}
	out := source.Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if stdout.over || stderr.over {
		return out, &source.Error{Kind: source.TooMuch, Place: n.name, Name: "what " + argv[0] + " says", More: fmt.Sprintf("%d bytes", source.MaxOutput)}
	}
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return out, nil
	case errors.As(err, &exit) && exit.Signal() != "":
		out.Code = 128 + signals[exit.Signal()]
		return out, nil
	case errors.As(err, &exit):
		out.Code = exit.ExitStatus()
		return out, nil
	}
	return out, n.unrun(ctx, argv[0], err)
}

func (n *Node) unrun(ctx context.Context, program string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &source.Error{Kind: source.Lost, Place: n.name, Err: err}
	var refused *ssh.OpenChannelError
	var missing *ssh.ExitMissingError
	switch {
	case errors.As(err, &refused):
		e.Kind, e.More = source.Busy, "it opens no session: "+refused.Message
	case !errors.As(err, &missing) && !lost(err):
		e.Kind, e.Name, e.More = source.Failed, program, "it runs no commands: "+err.Error()
	}
	return e
}

// signals by their names in SSH.
var signals = map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "USR1": 10,
	"SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15}

// plain needs no quotes in any shell.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@%+="

// quote writes words so that every shell takes them as they are.
func quote(argv []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" || strings.HasPrefix(argv[0], "-") || strings.Trim(argv[0], plain) != "" || strings.ContainsAny(argv[0], "=%") {
		return "", errors.New("there is no program that can be run")
	}
	words := make([]string, len(argv))
	for i, w := range argv {
		switch {
		// A backslash ends no quotes in one shell and hides their end in another; "!" is history in a third.
		case strings.ContainsAny(w, "\x00\n\r\\!") || !utf8.ValidString(w):
			return "", fmt.Errorf("%q cannot be given to a program there", w)
		case w != "" && strings.Trim(w, plain) == "" && !strings.HasPrefix(w, "=") && !strings.HasPrefix(w, "%"):
			words[i] = w
		default:
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " "), nil
}

// bounded keeps so much of what a program says, and lets it go on.
type bounded struct {
	bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := source.MaxOutput - b.Len()
	if len(p) > room {
		b.over = true
		b.Buffer.Write(p[:room])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}
