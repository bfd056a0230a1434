package nccl

import "bytes"

// Init is a line about a communicator as such.
type Init struct {
	Ptr, ID, Bus, Parent string
	Rank, NRanks, Dev    int
	Split, Color         int
	Phase                string // START, COMPLETE, Abort COMPLETE, Destroy COMPLETE
}

// phases are what ends such a line.
var phases = []struct{ literal, phase string }{
	{"Init START", "START"},
	{"Init COMPLETE", "COMPLETE"},
	{"Abort COMPLETE", "Abort COMPLETE"},
	{"Destroy COMPLETE", "Destroy COMPLETE"},
}

// Phases are the texts by which lines about a communicator are known.
func Phases() []string {
	var out []string
	for _, p := range phases {
		out = append(out, p.literal)
	}
	return out
}

// ReadInit reads "[ncclCommInitRank] comm 0x… rank 3 nranks 16 cudaDev 3 [nvmlDev 3] busId 5d000 [parent 0x… [splitCount 1] color 4 key 3]
// [commId 0x…] - Init COMPLETE". Up to 2.16 there is no START and no commId; splits have none from 2.23 on.
func ReadInit(text []byte) (Init, bool) {
	var c Init
	end := -1
	for _, p := range phases {
		if end = bytes.Index(text, []byte(p.literal)); end >= 0 {
			c.Phase = p.phase
			break
		}
	}
	i := bytes.Index(text, []byte("comm 0x"))
	if end < 0 || i < 0 || i > end {
		return c, false
	}
	b := text[i:end]
	c.Ptr, c.ID, c.Bus, c.Parent = clip(word(b, "comm ")), clip(word(b, "commId ")), clip(word(b, "busId ")), clip(word(b, "parent "))
	c.Rank, c.NRanks, c.Dev = numberAfter(b, " rank "), numberAfter(b, " nranks "), numberAfter(b, " cudaDev ")
	c.Color = numberAfter(b, " color ")
	if c.Split = numberAfter(b, " splitCount "); c.Split == Unknown {
		c.Split = numberAfter(b, " childCount ")
	}
	return c, c.Rank != Unknown
}
