package simulate

import (
	"time"

	"faultline/simulate/aiscluster"
)

var storageFaults = []storageFault{
	{name: "ais-crash", slug: "ais-daemon-restart", shapes: []string{"crash", "stall"}, sides: []string{"target"}, happens: targetDies},
	{name: "ais-crash-unseen", slug: "ais-daemon-restart", shapes: []string{"crash", "stall"}, sides: []string{"target"}, batches: true, happens: unseenDies},
	{name: "ais-streams", slug: "ais-stream-broken", shapes: []string{"crash", "stall"}, sides: []string{"target", "network"}, batches: true, happens: streamsBreak},
	{name: "ais-lost-objects", slug: "ais-batch-object-loss", shapes: []string{"crash", "stall"}, sides: []string{"target"}, batches: true, happens: objectsLost},
	{name: "ais-pressure", slug: "ais-resource-pressure", shapes: []string{"crash", "stall"}, sides: []string{"target"}, batches: true, happens: underPressure},
	{name: "ais-moving", slug: "ais-rebalance", shapes: []string{"crash", "stall"}, sides: []string{"target"}, happens: objectsMove},
	{name: "ais-stalled-batches", slug: "ais-silent-stall", shapes: []string{"stall"}, sides: []string{"target"}, batches: true, happens: batchesStall},
	{name: "ais-disk", slug: "ais-disk-fault", shapes: []string{"crash", "stall"}, sides: []string{"target"}, happens: diskFails},
	{name: "ais-rate-limit", slug: "ais-throttled", shapes: []string{"crash", "stall"}, sides: []string{"proxy"}, happens: rateLimited},
	{name: "ais-slow-down", slug: "ais-throttled", shapes: []string{"crash", "stall"}, sides: []string{"remote"}, happens: backendThrottles},
	{name: "ais-token", slug: "ais-auth", shapes: []string{"all"}, sides: []string{"client", "proxy"}, happens: tokenExpires},
	{name: "ais-cut-off", slug: "ais-network", shapes: []string{"crash", "stall"}, sides: []string{"network", "target"}, happens: cutOff},
	{name: "ais-withdrawn", slug: "ais-administration", shapes: []string{"crash", "stall"}, sides: []string{"target"}, happens: withdrawn},
	{name: "ais-deleted", slug: "ais-administration", shapes: []string{"crash", "stall"}, sides: []string{"target", "proxy"}, happens: deleted},
	{name: "ais-frozen", slug: "ais-silent-stall", shapes: []string{"crash", "stall"}, sides: []string{"target"}, happens: frozen},
	{name: "ais-full", slug: "storage-full", shapes: []string{"crash", "stall"}, sides: []string{"target"}, happens: outOfSpace},
	{name: "ais-backend", slug: "ais-backend", shapes: []string{"crash", "stall"}, sides: []string{"remote"}, happens: backendFails},
}

func one(n *aiscluster.Node) []*aiscluster.Node { return []*aiscluster.Node{n} }

func targetDies(p *storageSide, at time.Time) storageSeen {
	b := p.target()
	how := "killed"
	if p.s.spec.AIS.Variant%4 == 3 {
		how = "fatal"
	}
	back := time.Duration(32+p.s.rng.IntN(60)) * time.Second
	return storageSeen{answers: p.Crash(b, at, back, how), targets: one(b)}
}

// unseenDies: the logs of the target that died could not be had. The others name it: they found it gone, and it joined again.
func unseenDies(p *storageSide, at time.Time) storageSeen {
	b := p.target()
	p.unseen = b
	return storageSeen{answers: p.Crash(b, at, time.Duration(35+p.s.rng.IntN(60))*time.Second, "killed"), targets: one(b)}
}

func streamsBreak(p *storageSide, at time.Time) storageSeen {
	b := p.target()
	return storageSeen{answers: p.BreakStreams(b, at), targets: one(b), related: p.Targets, short: p.s.spec.AIS.Variant%2 == 0}
}

func objectsLost(p *storageSide, at time.Time) storageSeen {
	b := p.target()
	return storageSeen{answers: p.LoseObjects(b, at), targets: one(b), short: p.s.spec.AIS.Variant%3 != 0}
}

func underPressure(p *storageSide, at time.Time) storageSeen {
	b := p.target()
	return storageSeen{answers: p.Press(b, at, p.s.spec.AIS.Variant%2 == 1, 12*time.Minute), targets: one(b)}
}

func objectsMove(p *storageSide, at time.Time) storageSeen {
	takes := time.Duration(3+p.s.rng.IntN(6)) * time.Minute
	n := p.target()
	if p.newcomer != nil {
		n = p.newcomer
		answers, asked := p.Join(n, at, takes)
		return storageSeen{answers: answers, targets: append(asked, n)}
	}
	answers, asked := p.Maintain(n, at, takes)
	return storageSeen{answers: answers, targets: append(asked, n)}
}

func batchesStall(p *storageSide, at time.Time) storageSeen {
	b := p.target()
	// A reader gives a batch up after 20 s.
	at = at.Add(-22 * time.Second)
	return storageSeen{answers: p.Stall(b, at, time.Duration(p.s.timeoutMS)*time.Millisecond), targets: one(b), silent: true}
}

func diskFails(p *storageSide, at time.Time) storageSeen {
	b := p.target()
	return storageSeen{answers: p.FailDisk(b, at), targets: one(b)}
}

func rateLimited(p *storageSide, at time.Time) storageSeen {
	return storageSeen{answers: p.LimitRate(at), targets: p.Proxies}
}

func backendThrottles(p *storageSide, at time.Time) storageSeen {
	p.Bucket = "s3://speech"
	return storageSeen{answers: p.SlowDown(at), related: p.Targets}
}

func backendFails(p *storageSide, at time.Time) storageSeen {
	how := p.s.spec.AIS.Variant
	p.Bucket = []string{"s3://speech", "gs://speech", "ais://@Xk3pQ9sTz/speech"}[how%3]
	return storageSeen{answers: p.FailBehind(at, how), related: p.Targets}
}

func tokenExpires(p *storageSide, at time.Time) storageSeen {
	return storageSeen{answers: p.Expire(at, p.s.world), related: p.Proxies}
}

func cutOff(p *storageSide, at time.Time) storageSeen {
	b := p.target()
	return storageSeen{answers: p.Cut(b, at, 3*time.Minute), targets: one(b), related: p.Targets}
}

func outOfSpace(p *storageSide, at time.Time) storageSeen {
	p.Bucket = "s3://speech"
	b := p.target()
	return storageSeen{answers: p.Full(b, at, 30*time.Minute), targets: one(b)}
}

func withdrawn(p *storageSide, at time.Time) storageSeen {
	b := p.target()
	return storageSeen{answers: p.Withdraw(b, at), targets: one(b)}
}

// deleted: no daemon is to blame for what somebody deleted.
func deleted(p *storageSide, at time.Time) storageSeen {
	return storageSeen{answers: p.DeleteListed(at)}
}

// frozen: a target stands still and goes on before anybody looks.
func frozen(p *storageSide, at time.Time) storageSeen {
	b := p.target()
	return storageSeen{answers: p.Freeze(b, at.Add(-4*time.Second), time.Duration(60+p.s.rng.IntN(60))*time.Second), targets: one(b)}
}
