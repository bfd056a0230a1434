package knowledge

// Play is how a program of nothing but collectives shows a mechanism; its zero value is that none can.
type Play struct {
	Slip Slip
	Does string // the same in words
}

// Slip is what the program does wrong.
type Slip string

const (
	UnlikeCall  Slip = "mismatch" // one rank makes another call
	LateRank    Slip = "stalled"  // one rank does not come in time
	ExtraCall   Slip = "extra"    // one rank makes one call more
	MissingCall Slip = "short"    // one rank makes one call less
	NoSlip      Slip = "loop"     // nothing: the machine is tested
)

// onlyRepeats is the play of what a correct program meets as well.
var onlyRepeats = Play{NoSlip, "This program has no bug: it only repeats the collective. If it hangs too, the job's code isn't the cause."}
