package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"faultline/analysis/history"
	"faultline/config"
	"faultline/incident"
)

// show prints the report, or writes it where it was asked for and prints its first screen.
func (d *diagnosis) show(e env, cfg config.Config, r *incident.Report, files map[string]string) error {
	if d.png != "" {
		if err := writeFile(d.png, func(w io.Writer) error { return render(w, "png", r, look{}) }); err != nil {
			return err
		}
	}
	if d.folder != "" && d.format != "json" {
		r = placed(r, d.folder)
	}
	l := look{verbose: d.verbose, files: files, who: history.Who{Cluster: d.cluster, User: d.user}, color: cfg.Output.Color == "always"}
	if d.out != "" {
		if err := writeFile(d.out, func(w io.Writer) error { return render(w, d.format, r, l) }); err != nil {
			return err
		}
		if !isFile(d.out) || !slices.Contains(config.Formats, d.format) {
			return nil // a pipe, or a line for programs
		}
	}
	l.color, l.width = colored(cfg.Output.Color, e.out), columns(e.out)
	switch {
	case d.out != "":
		return showFirst(e.out, r, l, "Full report: "+d.out)
	case d.format != "terminal":
		return render(e.out, d.format, r, l)
	case d.full || d.verbose:
		return paged(e, func(w io.Writer) error { return render(w, "terminal", r, l) })
	}
	return showFirst(e.out, r, l, "Full report: add --full, or --out report.html for a browser.")
}

func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}

// showFirst prints the first screen, and where the rest is.
func showFirst(w io.Writer, r *incident.Report, l look, rest string) error {
	l.first = true
	if err := render(w, "terminal", r, l); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", rest)
	return err
}

// paged shows a text that is longer than the terminal through the person's pager; anywhere else it only writes it.
func paged(e env, write func(io.Writer) error) error {
	pager := pagerFor(e)
	if pager == "" {
		return write(e.out)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	if _, height, err := term.GetSize(int(e.out.(interface{ Fd() uintptr }).Fd())); err != nil || bytes.Count(text.Bytes(), []byte("\n")) < height {
		_, err := text.WriteTo(e.out)
		return err
	}
	cmd := exec.Command("sh", "-c", pager)
	cmd.Env = append(os.Environ(), "LESSCHARSET=utf-8")
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text.Bytes()), e.out, e.err
	if err := cmd.Start(); err != nil {
		_, err := text.WriteTo(e.out)
		return err
	}
	signal.Ignore(syscall.SIGINT) // the pager has the terminal now: Ctrl-C is for it
	_ = cmd.Wait()                // how it ended is the person's affair
	return nil
}

// pagerFor is the pager to use, "" where there is nobody to turn the pages, or no wish for one.
func pagerFor(e env) string {
	reads, _ := terminal(e.in)
	sees, _ := terminal(e.out)
	if !reads || !sees || os.Getenv("TERM") == "dumb" {
		return ""
	}
	if pager, set := os.LookupEnv("PAGER"); set {
		return strings.TrimSpace(pager)
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return "less"
}

// writeFile writes through a temporary neighbour, so that a failure leaves no half report behind.
func writeFile(name string, write func(io.Writer) error) error {
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() { // /dev/stdout, a pipe: nothing to replace
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		return errors.Join(write(f), f.Close())
	}
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, ".faultline-*")
	if errors.Is(err, fs.ErrNotExist) { // the neighbour's invented name would only puzzle
		return fmt.Errorf("writing %s: there is no directory %s: create it, or choose another", name, dir)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
