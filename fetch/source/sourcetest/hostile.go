package sourcetest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"faultline/fetch/source"
)

func links(t *testing.T, p Place) {
	if p.Link == nil {
		t.Skip("there are no links there")
	}
	p.Write(t, p.at("real/a.out"), []byte("mine"))
	p.Write(t, p.Outside+"/a.out", []byte("secret"))
	p.Link(t, p.at("inside.out"), p.at("real/a.out"))
	p.Link(t, p.at("near.out"), "real/a.out")
	p.Link(t, p.at("round"), "real/../real")
	p.Link(t, p.at("file.out"), p.Outside+"/a.out")
	p.Link(t, p.at("directory"), p.Outside)
	p.Link(t, p.at("chain.out"), "file.out")
	p.Link(t, p.at("loop.out"), "loop.out")
	p.Link(t, p.at("dangling.out"), "nowhere")
	for _, name := range []string{"inside.out", "near.out", "round/a.out", "real/a.out"} {
		if f, got := p.read(t, p.at(name), 0); string(got) != "mine" || f.Name != p.at(name) {
			t.Errorf("%s: %+v, %q", name, f, got)
		}
	}
	for _, name := range []string{"file.out", "directory/a.out", "chain.out"} {
		if _, _, err := p.Source.Open(ctx, p.at(name), 0); source.KindOf(err) != source.Outside {
			t.Errorf("opening %s: %v", name, err)
		}
		if _, err := p.Source.Stat(ctx, p.at(name)); source.KindOf(err) != source.Outside {
			t.Errorf("describing %s: %v", name, err)
		}
	}
	for _, name := range []string{"loop.out", "dangling.out"} {
		if _, body, err := p.Source.Open(ctx, p.at(name), 0); err == nil {
			body.Close()
			t.Errorf("%s was opened", name)
		}
	}
	for _, pattern := range []string{"*.out", "**"} {
		files, err := p.Source.Glob(ctx, source.Escape(p.Root)+"/"+pattern)
		n := 0
		for _, f := range files {
			if f.Size != 4 {
				t.Errorf("%s finds %+v", pattern, f)
			}
			n++
		}
		outside := 0
		for _, e := range source.Each(err) {
			if source.KindOf(e) == source.Outside {
				outside++
			}
		}
		if n < 2 || outside < 2 {
			t.Errorf("%s: %d files, %d refused: %v", pattern, n, outside, err)
		}
	}
	if files, err := p.Source.Glob(ctx, source.Escape(p.Root)+"/directory/*"); len(files) != 0 || source.KindOf(err) != source.Outside {
		t.Errorf("below a link that leads out: %v, %v", files, err)
	}
}

func outside(t *testing.T, p Place) {
	p.Write(t, p.at("a"), []byte("x"))
	p.Write(t, p.Outside+"/a", []byte("secret"))
	p.Write(t, p.Root+"beside/a", []byte("secret"))
	for _, name := range []string{p.Outside + "/a", p.Root + "beside/a"} {
		if _, _, err := p.Source.Open(ctx, name, 0); source.KindOf(err) != source.Outside {
			t.Errorf("opening %s: %v", name, err)
		}
		if _, err := p.Source.Stat(ctx, name); source.KindOf(err) != source.Outside {
			t.Errorf("describing %s: %v", name, err)
		}
		if files, err := p.Source.Glob(ctx, source.Escape(name)); source.KindOf(err) != source.Outside || len(files) != 0 {
			t.Errorf("looking for %s: %v, %v", name, files, err)
		}
	}
	if files, err := p.Source.Glob(ctx, source.Escape(p.Outside)+"/*"); source.KindOf(err) != source.Outside || len(files) != 0 {
		t.Errorf("%v, %v", files, err)
	}
}

func denied(t *testing.T, p Place) {
	if p.Deny == nil {
		t.Skip("nothing can be denied here")
	}
	p.Write(t, p.at("open/a.out"), []byte("x"))
	p.Write(t, p.at("closed/a.out"), []byte("x"))
	p.Write(t, p.at("open/b.out"), []byte("secret"))
	p.Deny(t, p.at("open/b.out"))
	p.Deny(t, p.at("closed"))
	_, _, err := p.Source.Open(ctx, p.at("open/b.out"), 0)
	if source.KindOf(err) != source.Denied || !strings.Contains(err.Error(), "open/b.out") {
		t.Errorf("opening a file: %v", err)
	}
	_, err = p.Source.Stat(ctx, p.at("closed/a.out"))
	if source.KindOf(err) != source.Denied || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a file in a closed directory: %v", err)
	}
	for _, pattern := range []string{"closed/*.out", "closed/a.out", "closed/**"} {
		if files, err := p.Source.Glob(ctx, source.Escape(p.Root)+"/"+pattern); source.KindOf(err) != source.Denied || len(files) != 0 {
			t.Errorf("%s: %v, %v", pattern, files, err)
		}
	}
	for _, pattern := range []string{"*/a.out", "**"} {
		files, err := p.Source.Glob(ctx, source.Escape(p.Root)+"/"+pattern)
		if source.KindOf(err) != source.Denied || len(files) == 0 || files[0].Name != p.at("open/a.out") {
			t.Errorf("%s: beside a closed directory: %v, %v", pattern, files, err)
		}
	}
}

func hostile(t *testing.T, p Place) {
	names := []string{"a b", "-rf", "$(touch x)", "`id`", "a;b", "a'b\"c", "*", "[", "ä€", "%n%s", "~", "#1", "&<!channel>", "a\tb", strings.Repeat("n", 200)}
	for _, n := range names {
		p.Write(t, p.at("h/"+n), []byte(n))
	}
	files, err := p.Source.Glob(ctx, source.Escape(p.Root)+"/h/*")
	if err != nil || len(files) != len(names) {
		t.Errorf("%d files of %d, %v", len(files), len(names), err)
	}
	for _, n := range names {
		if _, got := p.read(t, p.at("h/"+n), 0); string(got) != n {
			t.Errorf("%q holds %q", n, got)
		}
		files, err := p.Source.Glob(ctx, source.Escape(p.at("h/"+n)))
		if err != nil || len(files) != 1 || files[0].Name != p.at("h/"+n) {
			t.Errorf("%q: found %v, %v", n, files, err)
		}
	}
}

func cancelled(t *testing.T, p Place) {
	why := errors.New("enough")
	p.Write(t, p.at("a"), Bytes(16<<20))
	before, cancel := context.WithCancelCause(ctx)
	cancel(why)
	if _, err := p.Source.Glob(before, source.Escape(p.Root)+"/*"); !errors.Is(err, why) {
		t.Errorf("looking: %v", err)
	}
	if _, err := p.Source.Stat(before, p.at("a")); !errors.Is(err, why) {
		t.Errorf("describing: %v", err)
	}
	if _, _, err := p.Source.Open(before, p.at("a"), 0); !errors.Is(err, why) {
		t.Errorf("opening: %v", err)
	}
	during, cancel := context.WithCancelCause(ctx)
	_, body, err := p.Source.Open(during, p.at("a"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.ReadFull(body, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	cancel(why)
	if _, err := io.Copy(io.Discard, body); !errors.Is(err, why) {
		t.Errorf("reading: %v", err)
	}
}
