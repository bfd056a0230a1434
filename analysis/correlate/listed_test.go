package correlate

import (
	"fmt"
	"testing"

	"faultline/analysis/aislog"
)

func TestWhatARequestListsIsRead(t *testing.T) {
	for _, c := range []struct {
		ctl, object string
		yes, sure   bool
	}{
		{"list:[a.tar b.tar]", "b.tar", true, true},
		{"list:[a.tar b.tar]", "c.tar", false, true},
		{"list:[a b c d]", "a b", false, false}, // names that hold spaces
		{"list(60 names):[shard-00060.tar, ...]", "shard-00060.tar", true, true},
		{"list(60 names):[shard-00060.tar, ...]", "shard-00061.tar", false, false},
		{"prefix:logs/", "logs/1", true, true},
		{"prefix:logs/", "data/1", false, true},
		{"template:shard-{0000..0099}.tar", "shard-0042.tar", true, true},
		{"template:shard-{0000..0099}.tar", "shard-0142.tar", false, true},
		{"template:shard-{0000..0099}.tar", "shard-42.tar", false, true},
		{"template:shard-{0000..0099}.tar", "shard-0042.tar.old", false, true},
		{"template:shard-{0..99..2}", "shard-41", false, true},
		{"template:shard-{0..99..2}", "shard-42", true, true},
		{"template:a{00..09}-b{0..5}.gz", "a03-b4.gz", true, true},
		{"template:a{00..09}-b{0..5}.gz", "a03-b6.gz", false, true},
		{"template:shard-@0099.tar", "shard-0042.tar", true, true},
		{"template:shard-@0099.tar", "shard-0100.tar", false, true},
	} {
		l, ok := listed("I 03:09:16.690887 evict:131 x-delete-listrange[dcJctX31O]-ais://speech ctl: " + c.ctl)
		if yes, sure := l.covers(c.object); !ok || yes != c.yes || sure != c.sure {
			t.Errorf("%s of %s: %v, sure %v (read: %v)", c.object, c.ctl, yes, sure, ok)
		}
	}
	for _, ctl := range []string{"", "list:[a", "list(60 names)", "template:a-%06d", "template:a-{0..9}5", "template:a-{x..y}", "template:a-{0..9", "template:a-{0..9..0}", "template:abc"} {
		if l, ok := listed("x-delete-listrange[id]-ais://speech ctl: " + ctl); ok {
			t.Errorf("%q is read as %+v", ctl, l)
		}
	}
}

func FuzzListed(f *testing.F) {
	f.Add("x ctl: template:a-{0..9..2}-@7.tar", "a-4")
	f.Add("x ctl: list:[a b]", "b")
	f.Fuzz(func(_ *testing.T, text, object string) {
		if l, ok := listed(text); ok {
			l.covers(object)
		}
	})
}

// deletion is one of objects of ais://lab, as a target tells it.
func (x *inquiry) deletion(ctl string, before float64) *trouble {
	t := x.act("delete-listrange", "", "x-delete-listrange[dc1]-ais://lab ctl: "+ctl, before)
	end := *t.points[0].event
	end.Text = "x-delete-listrange[dc1]-ais://lab-11:12:40.000000-00:00:00.000000 finished"
	t.points = append(t.points, point{t: t.to, n: 1, event: &end})
	return t
}

// A deletion explains that an object is missing if it was deleted. Where the records do not name it, that is likely at once and only
// possible later.
func TestADeletionExplainsWhatItDeleted(t *testing.T) {
	for _, c := range []struct {
		ctl       string
		before    float64
		judgement string
	}{
		{"list:[o/000258]", 20, Implicated},
		{"list:[o/000258]", 4 * 3600, Implicated},
		{"list:[o/000001 o/000002]", 20, Cleared},
		{"template:o/{000200..000300}", 4 * 3600, Implicated},
		{"template:o/{000300..000400}", 20, Cleared},
		{"prefix:o/", 4 * 3600, Implicated},
		{"prefix:p/", 20, Cleared},
		{"list(60 names):[o/000001, ...]", 20, Implicated},
		{"list(60 names):[o/000001, ...]", 4 * 3600, Open},
		{"", 20, Implicated}, // releases before 4.0
		{"", 4 * 3600, Open},
	} {
		x := examined(missed404("o/000258", 0), missed404("o/000258", 2))
		a, es := x.judged(x.deletion(c.ctl, c.before))
		if a.Judgement != c.judgement {
			t.Errorf("%q, %.0f s before: %s (%s), not %s", c.ctl, c.before, a.Judgement, a.Why, c.judgement)
		}
		if c.judgement == Open && es[0].Standing != Undecided {
			t.Errorf("%q, %.0f s before: %s (%s)", c.ctl, c.before, es[0].Standing, es[0].Why)
		}
	}
}

// Whatever may have deleted it, one request of many that names the object is enough.
func TestOneOfManyDeletions(t *testing.T) {
	x := examined(missed404("o/000258", 0))
	d := x.deletion("list:[o/000001]", 20)
	for i := range 3 {
		d.points = append(d.points, point{t: d.to, n: 1, event: &aislog.Event{Kind: aislog.Administration, Action: d.action, Text: fmt.Sprintf("x-delete-listrange[dc%d]-ais://lab ctl: list:[o/%06d]", i+2, 256+i)}})
	}
	if a, _ := x.judged(d); a.Judgement != Implicated {
		t.Errorf("%s (%s)", a.Judgement, a.Why)
	}
}
