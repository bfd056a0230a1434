package workflow

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// Fault is trouble of the bot's own host: its disk or its store. Nobody who waits for an answer can do anything about it.
type Fault struct {
	Cannot string // what does not work: "store files"
	Why    string // "disk full"
	Err    error
}

// Error says it to people: no path, no address.
func (f *Fault) Error() string { return "I can't " + f.Cannot + " right now: " + f.Why }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// NotKept marks the error of a write to a disk of the bot's own; nil stays nil.
func NotKept(err error) error {
	var known *Fault
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &Fault{"store files", DiskReason(err), err}
}

// NotOpened is the fault where a limit of the bot's process or host is all that kept it from opening something; nil for other errors.
func NotOpened(err error) error {
	for _, limit := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, limit) {
			return &Fault{"open files", DiskReason(err), err}
		}
	}
	return nil
}

// Keeping is a writer to a disk of the bot's own: what that refuses is marked, and so told from what is wrong with what is written.
func Keeping(w io.Writer) io.Writer { return keeping{w} }

type keeping struct{ io.Writer }

func (k keeping) Write(b []byte) (int, error) {
	n, err := k.Writer.Write(b)
	return n, NotKept(err)
}

// diskReasons say in words what a system says in numbers.
var diskReasons = []struct {
	err  error
	text string
}{
	{syscall.ENOSPC, "disk full"},
	{syscall.EDQUOT, "disk quota used up"},
	{syscall.EROFS, "disk is read-only"},
	{syscall.EFBIG, "file-size limit reached"},
	{syscall.EMFILE, "too many open files"},
	{syscall.ENFILE, "too many open files"},
	{syscall.ENOMEM, "out of memory"},
	{syscall.EIO, "disk error"},
	{syscall.ESTALE, "file system is gone"},
	{syscall.ENOTDIR, "a file exists where a folder should be"},
	{fs.ErrPermission, "no permission to write"},
	{fs.ErrNotExist, "folder is gone"},
	{context.DeadlineExceeded, "disk not responding"},
}

const onHost = " on the bot's host"

// DiskReason says why a disk of the bot's own did not do what it should.
func DiskReason(err error) string {
	for _, r := range diskReasons {
		if errors.Is(err, r.err) {
			return r.text + onHost
		}
	}
	return "disk error" + onHost
}

// blamed are the events that ask people for something, give up or tell people that what they gave is of no use. None is
// believed while the bot's own host is in trouble.
var blamed = []Event{NotLocated, NothingRead, NothingNew, Refuted, AISFailed, Fail}

// ownFault says that the outcome of a step is due to trouble of the bot's own. Then the step is done again later.
func (f *Flow) ownFault(ctx context.Context, out outcome, err error) error {
	if !f.Deferred || f.Trouble == nil { // whoever sits before a terminal sees the error itself
		return nil
	}
	var own *Fault
	switch {
	case errors.As(err, &own), errors.As(out.fault, &own), errors.As(NotOpened(err), &own):
	case err == nil && !slices.Contains(blamed, out.event):
		return nil
	}
	if now := f.Trouble(ctx); now != nil {
		return now
	}
	if err == nil || own == nil { // files that do not fit beside each other: what there is counts
		return nil
	}
	return own
}
