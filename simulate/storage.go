package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"faultline/simulate/aiscluster"
)

// storages lists the incidents that come with the logs of the storage's daemons: what goes wrong in the storage and reaches the
// job, and controls in which it is well, or ill and not to blame.
func storages() []mechanism {
	var out []mechanism
	for _, f := range storageFaults {
		out = append(out, mechanism{name: f.name, line: storageLine, fit: f.fit, run: f.play})
	}
	for _, f := range storageControls {
		out = append(out, mechanism{name: f.name, line: storageLine, fit: f.fit, run: f.play})
	}
	return out
}

// storageFault is a fault of the storage that reaches the job.
type storageFault struct {
	name, slug string
	shapes     []string
	sides      []string
	batches    bool // only of releases with Get-Batch
	// happens plays it on the daemons at a moment. What clients are answered, and who is at fault, comes back.
	happens func(p *storageSide, at time.Time) storageSeen
}

// storageSeen is what a fault leaves on the other side.
type storageSeen struct {
	answers []aiscluster.Seen
	targets []*aiscluster.Node // at fault
	related []*aiscluster.Node
	short   bool // batches come short: the first is answered, the next only ends
	silent  bool // clients hear nothing until they give up waiting, and the job reads on for long
}

// fit draws the cluster of a grid's spec.
func (f *storageFault) fit(s *Spec, p *picker) {
	fitStorage(s, p)
	s.AIS.Shape = pick(p.Rand, f.shapes...)
	if f.batches && s.AIS.Release == "3.30" {
		s.AIS.Release = pick(p.Rand, aiscluster.Releases()[1:]...)
	}
}

// fitStorage draws a cluster, and a job whose lines carry times.
func fitStorage(s *Spec, p *picker) {
	fitTimed(s, p)
	s.Ablate = ""
	if s.Damage != "gz" && s.Damage != "crlf" {
		s.Damage = ""
	}
	if s.NodeCount*s.PerNode > 64 {
		s.NodeCount = 64 / s.PerNode
		p.oneGroup(s)
	}
	zones := []struct {
		name    string
		minutes int
	}{{"UTC", 0}, {"UTC", 0}, {"UTC", 0}, {"PDT", -420}, {"CET", 60}, {"IST", 330}, {"CST", 480}, {"CST", -360}}
	z := zones[p.IntN(len(zones))]
	s.AIS = AIS{Release: pick(p.Rand, aiscluster.Releases()...), Targets: 3 + p.IntN(8), Proxies: 1 + p.IntN(3), Shape: pick(p.Rand, "crash", "stall"),
		Variant: p.IntN(60), Zone: z.name, Offset: z.minutes, Every: pick(p.Rand, 10, 60, 60, 180), Aged: p.IntN(2) == 0, Pods: p.IntN(3) == 0,
		Errors: p.IntN(3) == 0, Packed: p.IntN(4) == 0, Midnight: p.IntN(5) == 0}
	if p.IntN(3) == 0 {
		s.AIS.Rotate = pick(p.Rand, 6000, 20000, 64000)
	}
	if p.IntN(4) == 0 {
		s.AIS.Skew = p.IntN(9000) - 4500
	}
}

// storageSide is the cluster beside the job while both are played.
type storageSide struct {
	*aiscluster.Cluster
	s       *scene
	targets []*aiscluster.Node // those at fault
	related []*aiscluster.Node
	roots   []int // ranks at fault, of a control
	// unseen is a daemon whose logs did not come.
	unseen *aiscluster.Node
	// newcomer is a target that is not there at the beginning.
	newcomer *aiscluster.Node
	taken    time.Duration // how long after the job's last line the logs were taken
	tied     bool          // something that both sides saw relates their clocks
	after    func(end time.Time)
}

// lead is how much of the daemons' logs there is before the job.
const lead = 70 * time.Minute

// beside builds the cluster. It is called before the job starts, since the job's start may have to move.
func (s *scene) beside() (*storageSide, error) {
	a := &s.spec.AIS
	if a.Midnight { // the fault comes a few minutes after the start
		local := s.start.Add(time.Duration(a.Offset) * time.Minute)
		midnight := time.Date(local.Year(), local.Month(), local.Day()+1, 0, 0, 0, 0, time.UTC)
		s.start = s.start.Add(midnight.Sub(local) - time.Duration(30+s.spec.Seed%150)*time.Second)
	}
	c, err := aiscluster.New(aiscluster.Spec{Release: a.Release, Targets: a.Targets, Proxies: a.Proxies, Containers: a.Pods, Zone: a.Zone,
		Offset: time.Duration(a.Offset) * time.Minute, Skew: time.Duration(a.Skew) * time.Millisecond, Aged: a.Aged, RotateAt: a.Rotate,
		StatsEvery: time.Duration(a.Every) * time.Second, Errors: a.Errors, Packed: a.Packed}, s.spec.Seed, s.start.Add(-lead))
	if err != nil {
		return nil, err
	}
	var newcomer *aiscluster.Node
	if s.spec.Mechanism == "ais-moving" && a.Variant%2 == 0 && a.Targets > 3 {
		newcomer = c.Targets[len(c.Targets)-1]
		c.Late(newcomer)
	}
	p := &storageSide{Cluster: c, newcomer: newcomer, s: s, taken: 4*time.Minute + time.Duration(s.spec.Seed%17)*time.Minute}
	s.cluster = p
	return p, nil
}

// at is a moment of the scene in true time.
func (p *storageSide) at(t time.Duration) time.Time { return p.s.start.Add(t) }

// since is a moment in true time on the scene's clock.
func (p *storageSide) since(t time.Time) time.Duration { return t.Sub(p.s.start) }

// close takes the daemons' logs when all has been played.
func (p *storageSide) close(inc *Incident) error {
	end := inc.Played.End.Add(p.taken)
	if p.after != nil {
		p.after(end)
	}
	p.Others(p.at(-lead+30*time.Second), end)
	files, err := p.Files(end)
	if err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	for _, f := range files {
		if p.unseen != nil && strings.HasPrefix(f.Name, p.unseen.Folder()+"/") || p.unseen != nil && f.Name == p.unseen.Folder()+".tar.gz" {
			continue
		}
		inc.Storage = append(inc.Storage, File{f.Name, f.Data})
	}
	return nil
}

// play is a job that reads, and the fault that reaches it.
func (f *storageFault) play(s *scene) error {
	if !s.oneGroup() {
		return errOneGroup
	}
	p, err := s.beside()
	if err != nil {
		return err
	}
	r := s.anyRank()
	s.root = r
	var t time.Duration
	if s.spec.AIS.Shape == "stall" {
		t = s.runUp()
	} else {
		t = s.begin()
	}
	lag := time.Duration(3+s.rng.IntN(5)) * time.Second // what was fetched ahead lasts so long
	seen := f.happens(p, p.at(t-lag))
	slices.SortStableFunc(seen.answers, func(a, b aiscluster.Seen) int { return a.At.Compare(b.At) })
	p.targets, p.related = seen.targets, seen.related
	affected := []int{r}
	var last time.Duration
	switch s.spec.AIS.Shape {
	case "stall":
		last = p.slows(r, t, seen)
	case "all":
		last = p.allDie(t, seen)
		affected = nil
		for i := range s.world {
			affected = append(affected, i)
		}
	default:
		last = p.dies(r, t, seen)
	}
	if seen.silent {
		last = t + time.Duration(s.timeoutMS)*time.Millisecond
	}
	p.Load(p.at(sec(11)), p.at(last), p.pace())
	p.noise(t)
	p.decoy(t)
	s.title = fmt.Sprintf("%s (%s): rank %d and its job", f.name, s.spec.AIS.Shape, r)
	s.implicated(f, affected)
	return nil
}

// implicated is the truth of a fault of the storage that reached the job.
func (s *scene) implicated(f *storageFault, affected []int) {
	p := s.cluster
	s.judge = func(*view) Truth {
		t := Truth{World: s.title, Candidates: []string{f.slug}, Storage: &StorageTruth{Judgements: []string{"implicated"}, Sides: f.sides,
			Affected: affected, Alone: []string{}}}
		t.Storage.Targets, t.Storage.Related = ids(p.targets), ids(p.related)
		return t
	}
}

// ids are the names of daemons, as reports call them.
func ids(nodes []*aiscluster.Node) []string {
	out := []string{}
	for _, n := range nodes {
		out = append(out, n.ID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// target is a random target that is there from the beginning.
func (p *storageSide) target() *aiscluster.Node {
	for {
		if n := p.Targets[p.s.rng.IntN(len(p.Targets))]; n != p.newcomer {
			return n
		}
	}
}

// pace is how many batches of 32 objects the job reads a second.
func (p *storageSide) pace() float64 { return float64(p.s.world) / 8 / p.s.stepTime.Seconds() }

// decoy is trouble of another target that has nothing to do with the job: over long before, there all day, or with other data.
func (p *storageSide) decoy(t time.Duration) {
	var other *aiscluster.Node
	for _, n := range p.Targets {
		if n != p.newcomer && !slices.Contains(p.targets, n) && !slices.Contains(p.related, n) {
			other = n
		}
	}
	if other == nil {
		return
	}
	switch p.spec().Variant % 5 {
	case 1:
		p.Restart(other, p.at(-55*time.Minute), 40*time.Second)
	case 2:
		before := p.after
		p.after = func(end time.Time) {
			p.Grumble(other, p.at(-lead+time.Minute), end)
			if before != nil {
				before(end)
			}
		}
	case 3:
		own := p.Bucket
		p.Bucket = "ais://archive"
		p.FailDisk(other, p.at(t-14*time.Minute))
		p.Bucket = own
	}
}

// noise is what is in any cluster's logs: a target that was restarted in the morning, somebody without a token.
func (p *storageSide) noise(t time.Duration) {
	if p.s.spec.Noise >= 2 {
		p.Pull(p.at(t-40*time.Minute), 1+p.s.rng.IntN(4))
	}
	if p.s.spec.Noise >= 1 {
		p.after = func(end time.Time) { p.Pull(end.Add(-70*time.Second), p.s.rng.IntN(7)) }
	}
}
