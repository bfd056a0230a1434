package resolve

import (
	"slices"
	"strconv"
	"strings"

	"faultline/knowledge"
	"faultline/pattern"
)

// retellers is how torch.distributed.checkpoint raises on every rank of a group what failed on some: it names those by their ranks inside
// the group.
var retellers = pattern.New(`\bCheckpointException ranks:dict_keys\(\[(\d{1,6}(?:, \d{1,6}){0,31})\]\)`)

// retold lets an error that all ranks of a group raise, because it was met by some of them, be the error of those. A rank inside the group
// is the same in the job where everybody below it is seen to be a member.
func (f *Facts) retold() {
	named := map[*Failure]string{}
	members := map[int]bool{}
	lists := map[string]bool{}
	for _, fl := range f.Failures {
		if fl.Exc == nil || fl.Rank == NoRank || fl.Role != knowledge.CauseRole || !strings.Contains(fl.Exc.Message, "CheckpointException ranks:") {
			continue
		}
		if m := retellers.FindStringSubmatch(fl.Exc.Message); m != nil {
			named[fl], members[fl.Rank], lists[m[1]] = m[1], true, true
		}
	}
	if len(lists) != 1 || len(members) < 2 {
		return
	}
	var met []int
	for list := range lists {
		for s := range strings.SplitSeq(list, ", ") {
			r, _ := strconv.Atoi(s)
			met = append(met, r)
		}
	}
	for r := range slices.Max(met) + 1 {
		if !members[r] && !slices.ContainsFunc(f.Failures, func(fl *Failure) bool { return fl.Rank == r && fl.Role == knowledge.CauseRole }) {
			return // who is missing may be no member
		}
	}
	for fl := range named {
		if !slices.Contains(met, fl.Rank) {
			fl.Role = knowledge.ConsequenceRole
		}
	}
}
