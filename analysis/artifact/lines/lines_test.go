package lines

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestLinesKeepTheirPlaces(t *testing.T) {
	text := "\xef\xbb\xbffirst\r\n\n" + strings.Repeat("x", 100_000) + "\nlast"
	var got []Line
	if err := Each(t.Context(), strings.NewReader(text), func(l Line) error { got = append(got, l); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || got[0].Text != "first" || got[0].Offset != 3 || got[1].Offset != 10 || got[2].Offset != 11 || len(got[2].Text) != Max || !got[2].Cut {
		t.Fatalf("%d lines, %+v", len(got), got[:2])
	}
	if last := got[3]; last.Text != "last" || last.Line != 4 || last.Offset != int64(len(text)-4) || last.Cut {
		t.Errorf("%+v", last)
	}
}

func TestEachStops(t *testing.T) {
	stop := errors.New("stop")
	if err := Each(t.Context(), strings.NewReader("a\nb\n"), func(Line) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Each(ctx, strings.NewReader("a\n"), func(Line) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLabelsAndPrompts(t *testing.T) {
	for _, c := range []struct{ in, rest, host string }{
		{"[1,0]<stdout>:#  Rank  0", "#  Rank  0", ""},
		{" 3: # nThread", "# nThread", ""},
		{"node03: CA 'mlx5_0'", "CA 'mlx5_0'", "node03"},
		{"# nothing", "# nothing", ""},
	} {
		if rest, host, _ := Peel(c.in); rest != c.rest || host != c.host {
			t.Errorf("%q: %q of %q", c.in, rest, host)
		}
	}
	for _, c := range []struct{ in, host, command string }{
		{"root@node03:~# ibstat mlx5_0", "node03", "ibstat mlx5_0"},
		{"[user@node03 ~]$ ip -s link", "node03", "ip -s link"},
		{"$ perfquery -x", "", "perfquery -x"},
		{"(base) user@node03:/tmp$ ping -M do node4", "node03", "ping -M do node4"},
	} {
		if host, command, ok := Prompt(c.in); !ok || host != c.host || command != c.command {
			t.Errorf("%q: %q on %q, %v", c.in, command, host, ok)
		}
	}
	if _, _, ok := Prompt("# Using devices"); ok {
		t.Error("a comment is no prompt")
	}
}
