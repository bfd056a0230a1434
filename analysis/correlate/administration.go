package correlate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/aislog"
	"faultline/knowledge"
)

// act is a change to the cluster that an operator asks for, by the name of the request.
type act struct {
	// takes: objects of this scope can no longer be read.
	takes scope
	// says tells what happened; {daemon} is the daemon, or the bucket.
	says string
	// listed: it is for some objects of a bucket, which its records may list.
	listed bool
}

// scope is what an act takes away.
type scope uint8

const (
	ofNothing scope = iota
	ofCopies        // copies of a bucket's objects: they are read again from the store behind it
	ofTarget        // what a target held
	ofBucket        // objects of a bucket
	ofPath          // what a mountpath of a target held
	ofRights        // what may be done with a bucket
)

// acts are what administrators can do that jobs may feel. Source: AIStore api/apc/actmsg.go, 3.20 to 5.0.
var acts = map[string]act{
	"start-maintenance": {takes: ofTarget, says: "{daemon} was put into maintenance"},
	"stop-maintenance":  {takes: ofNothing, says: "{daemon} was taken out of maintenance"},
	"decommission-node": {takes: ofTarget, says: "{daemon} was decommissioned"},
	"decommission":      {takes: ofTarget, says: "{daemon} was decommissioned"},
	"shutdown-node":     {takes: ofTarget, says: "{daemon} was shut down by an administrator"},
	"shutdown":          {takes: ofTarget, says: "{daemon} was shut down by an administrator"},
	"rm-unsafe":         {takes: ofTarget, says: "{daemon} was removed from the cluster by an administrator"},
	"destroy-bck":       {takes: ofBucket, says: "{daemon} was destroyed"},
	"evict-remote-bck":  {takes: ofCopies, says: "{daemon} was evicted"},
	"set-bprops":        {takes: ofRights, says: "the properties of {daemon} were changed"},
	"move-bck":          {takes: ofBucket, says: "{daemon} was renamed"},
	"delete-listrange":  {takes: ofBucket, says: "objects of {daemon} were deleted", listed: true},
	countedDeletion:     {takes: ofBucket, says: "objects were deleted"},
	"evict-listrange":   {takes: ofCopies, says: "objects of {daemon} were evicted"},
	"new-primary":       {takes: ofNothing, says: "the primary proxy was changed by an administrator"},
	"primary-force":     {takes: ofNothing, says: "the primary proxy was changed by an administrator"},
	"detach-mp":         {takes: ofPath, says: "a mountpath on {daemon} was removed by an administrator"},
	"disable-mp":        {takes: ofPath, says: "a mountpath on {daemon} was disabled by an administrator"},
}

// act is what a trouble is about, if it was asked for.
func (t *trouble) act() act { return acts[t.action] }

// takesObjects says that the act of a trouble takes objects away until they are given back.
func (t *trouble) takesObjects() bool {
	return t.act().takes > ofCopies
}

// bucket is the one that a trouble's records name.
func (t *trouble) bucket() bucket {
	for _, p := range t.points {
		if p.event != nil {
			if b := bucketOf(p.event.Text); b.name != "" {
				return b
			}
		}
	}
	return bucket{}
}

// match is how what a failed request wanted stands to what an act took away.
type match uint8

const (
	otherwise match = iota // it wanted something else, or failed of something else
	unsaid                 // its line does not tell what it wanted, or where that lay
	unlisted               // it wanted an object of the bucket, and the records do not name those that were taken
	taken                  // it wanted what was taken away
)

// wanted says that a client's request failed as one for what an act took away does: it found nothing, or was not allowed.
func (t *trouble) wanted(c *Client) bool {
	switch t.act().takes {
	case ofNothing, ofCopies:
		return false
	case ofRights:
		return deniedBucket(c.Text) != ""
	}
	return missed(c)
}

// reaches says whether what an act took away is what a client's request wanted and did not get.
func (x *inquiry) reaches(t *trouble, c *Client) match {
	if !t.wanted(c) {
		return otherwise
	}
	if t.act().takes == ofRights {
		return matchBucket(t, deniedBucket(c.Text))
	}
	gone := goneBucket(c.Text)
	switch ofBuckets := t.act().takes == ofBucket; {
	case gone != "" && ofBuckets:
		return matchBucket(t, gone)
	case gone != "":
		return otherwise
	case t.action == countedDeletion && !x.deletedAt(t, c):
		return otherwise
	case ofBuckets:
		return matchObject(t, c.object())
	}
	switch x.home(c.object()) {
	case "":
		return unsaid
	case t.about:
		return taken
	}
	return otherwise
}

// matchObject compares the object that a request did not find with what was taken from a bucket.
func matchObject(t *trouble, object string) match {
	b := t.bucket()
	name, within, _ := strings.Cut(object, "/")
	switch {
	case b.name == "" || name == "":
		return unsaid
	case b.name != name:
		return otherwise
	case !t.act().listed:
		return unlisted // it is there again, and not all that it held
	}
	switch yes, sure := t.lists(within); {
	case yes:
		return taken
	case sure:
		return otherwise
	}
	return unlisted
}

// matchBucket compares the bucket that is said not to exist with the one that an act took away.
func matchBucket(t *trouble, gone string) match {
	switch name := t.bucket().name; {
	case t.act().listed:
		return otherwise // it took objects, not the bucket
	case name == "":
		return unlisted
	case name == gone:
		return taken
	}
	return otherwise
}

// goneBucket is the bucket that a line says does not exist: `bucket "ais://speech" does not exist`.
func goneBucket(text string) string {
	_, rest, ok := strings.Cut(text, `bucket "`)
	name, after, closed := strings.Cut(rest[:min(len(rest), maxValue)], `"`)
	if !ok || !closed || !strings.HasPrefix(after, " does not exist") {
		return ""
	}
	return bucketOf(name).name
}

// deniedBucket is the bucket whose access attributes do not allow a request: `bucket ais://speech(0x1): GET access denied (allowed: [])`.
func deniedBucket(text string) string {
	before, _, ok := strings.Cut(text, " access denied (allowed: ")
	i := strings.LastIndex(before, "://")
	if !ok || i < 0 || len(before)-i > maxValue {
		return ""
	}
	return bucketOf(before[schemeAt(before, i):]).name
}

// namelessFor is for how long, in seconds, what failed because of something that lines do not name is taken to be its doing.
const namelessFor = lookBack

// old says that a request failed too long after an act for one to lead to the other where no name ties them.
func (x *inquiry) old(t *trouble, c *Client) bool {
	return x.clock.Known() && c.T.Valid && c.T.T-(t.to+x.clock.Shift) > namelessFor+x.clock.Unc+c.T.Unc
}

// object is the first one that a line names.
func (c *Client) object() string {
	for _, m := range c.Marks {
		if m.Kind == Object {
			return m.Value
		}
	}
	return ""
}

// gone says what became of the object that a request wanted.
func (x *inquiry) gone(t *trouble, c *Client) string {
	object := c.object()
	if t.act().takes == ofRights {
		return "the bucket's access attributes did not allow its request"
	}
	if t.act().takes == ofBucket {
		switch {
		case goneBucket(c.Text) != "":
			return "it requested a bucket that no longer exists"
		case t.act().listed && x.reaches(t, c) == taken:
			return "the object it requested is one of those"
		}
		text := fmt.Sprintf("it requested an object in %s", t.bucket())
		if home := x.home(object); home != "" && slices.Contains(c.Marks, Mark{Node, home}) {
			text += fmt.Sprintf(", which is no longer on %s, where it belongs", home)
		}
		return text
	}
	return fmt.Sprintf("the object it requested belongs on %s", t.about)
}

// missed says that a client's line tells of something that the store did not have.
func missed(c *Client) bool {
	if !c.ours && c.object() == "" {
		return false
	}
	return c.Fault == "missing" || slices.ContainsFunc(missingWords, func(w string) bool { return strings.Contains(c.Text, w) })
}

var missingWords = []string{"STATUS:404", "ErrObjNotFound", "ErrNotFound", "ErrBckNotFound", "does not exist", "returned empty content"}

// administered joins an act with what followed at once: a cluster that moves its data because a member was asked to leave
// is one trouble. A mountpath that was disabled without an error of its disk was disabled on request.
func (x *inquiry) administered(all []*trouble) []*trouble {
	for _, t := range all {
		if onlyDisabled(t) {
			t.mech, t.action = knowledge.AISAdministration, "disable-mp"
		}
	}
	taken := map[*trouble]bool{}
	for _, t := range all {
		taken[t] = t.action != "" && slices.ContainsFunc(all, func(o *trouble) bool { return !taken[o] && (o.says(t) || o.follows(t)) })
	}
	all = slices.DeleteFunc(all, func(t *trouble) bool { return taken[t] })
	for _, t := range all {
		t.back = givenBack(t, all)
	}
	return all
}

// ofABucket says that an act is about a bucket, and not about a daemon.
func (t *trouble) ofABucket() bool {
	return slices.Contains([]scope{ofBucket, ofCopies, ofRights}, t.act().takes)
}

// named is the daemon or the bucket that an act is about, "" where its records do not say.
func (t *trouble) named() string {
	if t.ofABucket() {
		return t.bucket().String()
	}
	return t.about
}

// says takes in the records of the same request that do not name what it is about: most of them do not.
func (t *trouble) says(o *trouble) bool {
	if o.named() != "" || t.named() == "" || t.action != o.action || math.Abs(t.from-o.from) > late {
		return false
	}
	t.points = append(t.points, o.points...)
	slices.SortStableFunc(t.points, func(a, b point) int { return cmp.Compare(a.t, b.t) })
	t.from, t.to = min(t.from, o.from), max(t.to, o.to)
	return true
}

// follows takes in the request that made the cluster move its data.
func (t *trouble) follows(o *trouble) bool {
	moves := o.act().takes == ofTarget || o.action == "stop-maintenance"
	if !t.mech.Is(knowledge.OnRequest) || !moves || t.from < o.from-5 || t.from > o.from+late {
		return false
	}
	t.points = append(slices.Clone(o.points), t.points...)
	t.from, t.ordered = min(t.from, o.from), o
	return true
}

// onlyDisabled says that a mountpath went out of service and nothing was wrong with it.
func onlyDisabled(t *trouble) bool {
	return len(t.points) > 0 && !slices.ContainsFunc(t.points, func(p point) bool {
		return p.event == nil || p.event.Kind != aislog.MountpathOff || !strings.Contains(p.event.Text, "disabled mountpath mp[")
	})
}

// administration says what was done.
func (x *inquiry) administration(t *trouble) string {
	if t.action == countedDeletion {
		return t.deleted()
	}
	what := t.about
	if t.ofABucket() {
		if what = t.bucket().String(); what == "" {
			what = "a bucket"
		}
	}
	if what == "" {
		what = "a daemon"
	}
	text := worded(t.act().says, what)
	if n, ok := t.count(); ok {
		text = strings.Replace(text, "objects of", plural(n, "object of", "objects of"), 1)
		if n == 1 {
			text = strings.Replace(text, " were ", " was ", 1)
		}
	}
	if slices.ContainsFunc(t.points, func(p point) bool { return p.event != nil && strings.Contains(p.event.Text, "reb=false") }) {
		text += " without a rebalance, so its objects could not be read"
	}
	return text
}

// worded fills in what a text leaves open; more are further names and values.
func worded(text, daemon string, more ...string) string {
	if daemon == "" {
		daemon = "the cluster"
	}
	return strings.NewReplacer(append([]string{"{daemon}", daemon}, more...)...).Replace(text)
}

// count is how many objects a list named: "ctl: list(60 names):[shard-00060.tar, ...]".
func (t *trouble) count() (int, bool) {
	for _, p := range t.points {
		if p.event == nil {
			continue
		}
		if _, rest, ok := strings.Cut(p.event.Text, "list("); ok {
			n := 0
			for _, c := range digitsOf(rest[:min(len(rest), 9)]) {
				n = n*10 + int(c-'0')
			}
			if n > 0 {
				return n, true
			}
		}
	}
	return 0, false
}

// givenBack is when a target was put back into service after an act, +Inf while it was not.
func givenBack(t *trouble, all []*trouble) float64 {
	back := math.Inf(1)
	for _, o := range all {
		if t.act().takes == ofTarget && o.action == "stop-maintenance" && (o.about == t.about || o.about == "") && o.from > t.from {
			back = min(back, o.from)
		}
	}
	return back
}

// lists says whether the requests of a trouble are for an object, as far as their records tell.
func (t *trouble) lists(object string) (yes, sure bool) {
	if t.requests == nil {
		t.requests = t.listings()
	}
	sure = true
	for _, l := range t.requests {
		if l == nil {
			sure = false
			continue
		}
		yes, certain := l.covers(object)
		if yes {
			return true, true
		}
		sure = sure && certain
	}
	return false, sure
}

// listings are what the requests of a trouble are for, by request: nil where that is not known. Each request writes a record that
// lists it, and others that do not.
func (t *trouble) listings() map[string]*listing {
	out := map[string]*listing{}
	for _, p := range t.points {
		if p.event == nil { // more of them than are held
			out[""] = nil
			continue
		}
		id := requestOf(p.event)
		if l, ok := listed(p.event.Text); ok && !p.event.Cut && p.event.Len <= len(p.event.Text) {
			out[id] = &l
		} else if out[id] == nil {
			out[id] = nil
		}
	}
	return out
}

// requestOf is the id of the request that a record belongs to: "x-delete-listrange[id]-ais://speech".
func requestOf(e *aislog.Event) string {
	_, rest, _ := strings.Cut(e.Text, e.Action+"[")
	id, _, _ := strings.Cut(rest, "]")
	return id
}

// countedDeletion is the deletion of objects one by one: no record tells of it, or of what it took, but the targets count it.
const countedDeletion = "delete"

// deletions adds the lines of counters by which a target deleted objects, but for those that the records of a request explain, and
// for copies that it dropped, which it counts twice (lru.evict.n; AIStore 5.0).
func (x *inquiry) deletions(d int, by map[troubleKey][]point) {
	if x.daemons[d].Role != aislog.Target {
		return
	}
	k := troubleKey{mech: knowledge.AISAdministration, action: countedDeletion}
	for i := range x.daemons[d].Intervals {
		iv := &x.daemons[d].Intervals[i]
		n := iv.Of("del.n") - iv.Of("lru.evict.n")
		from, ok := x.wall(d, iv.From)
		to, ok2 := x.wall(d, iv.To)
		if n > 0 && ok && ok2 && iv.Base.File != "" && !x.requested(from-late, to+late) {
			by[k] = append(by[k], point{t: from, n: int(n), d: d, line: iv})
		}
	}
}

// requested says that a record of a request to delete, evict or destroy lies in a time.
func (x *inquiry) requested(from, to float64) bool {
	for d := range x.daemons {
		for i := range x.daemons[d].Groups {
			g := &x.daemons[d].Groups[i]
			if g.Kind != aislog.Administration {
				continue
			}
			within := func(e aislog.Event) bool {
				t, ok := x.wall(d, e.Time)
				takes := acts[e.Action].takes
				return ok && t >= from && t <= to && (takes == ofBucket || takes == ofCopies)
			}
			if slices.ContainsFunc(g.Events, within) {
				return true
			}
		}
	}
	return false
}

// missing says that a request did not find what a trouble may have taken away.
func (x *inquiry) missing(t *trouble) bool {
	return slices.ContainsFunc(x.lines, func(c Client) bool {
		return !c.Over && x.reaches(t, &c) != otherwise
	})
}

// deletedAt says that the target that should have an object counts deletions; true where it is not known which one that is.
func (x *inquiry) deletedAt(t *trouble, c *Client) bool {
	home := x.home(c.object())
	return home == "" || slices.ContainsFunc(t.points, func(p point) bool { return x.self(p.d) == home })
}

// deleted says how many objects were deleted.
func (t *trouble) deleted() string {
	n := 0
	targets := map[int]bool{}
	for _, p := range t.points {
		n += p.n
		targets[p.d] = true
	}
	text := "1 object was deleted"
	if n > 1 {
		text = fmt.Sprintf("%d objects were deleted one by one", n)
	}
	return text + " on " + plural(len(targets), "target", "targets") + " (counter del.n)"
}
