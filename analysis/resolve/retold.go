package resolve

import (
	"slices"
	"strconv"
	"strings"

	"faultline/knowledge"
)

// reteller is how torch.distributed.checkpoint begins to tell, on every rank of a group, what failed on some: it names those by their ranks
// inside the group, "0, 1])".
const reteller = "CheckpointException ranks:dict_keys(["

// retold lets an error that all ranks of a group raise, because it was met by some of them, be the error of those. A rank inside the group
// is the same in the job where everybody below it is seen to be a member; else who raises it and is not named, or is named with others of
// whom nothing is here, did not meet it alone.
// The second list are failures whose own rank nothing proves.
func (f *Facts) retold() (all []amendment, nobodys []*Failure) {
	var told []*Failure
	members := map[int]bool{}
	lists := map[string]bool{}
	for _, fl := range f.Failures {
		if fl.Exc == nil || fl.Rank == NoRank || fl.Role != knowledge.CauseRole {
			continue
		}
		if _, rest, ok := strings.Cut(fl.Exc.Message, reteller); ok {
			list, _, _ := strings.Cut(rest, "]")
			told, members[fl.Rank], lists[list] = append(told, fl), true, true
		}
	}
	if len(lists) != 1 {
		return nil, nil
	}
	var met []int
	for list := range lists {
		for s := range strings.SplitSeq(list, ", ") {
			r, err := strconv.Atoi(s)
			if err != nil || r < 0 || r >= MaxWorld {
				break // the message is cut
			}
			met = append(met, r)
		}
	}
	if len(met) == 0 {
		return nil, nil
	}
	complete := len(members) > 1
	for r := 0; complete && r <= slices.Max(met); r++ {
		// Who is missing may be no member.
		complete = members[r] || slices.ContainsFunc(f.Failures, func(fl *Failure) bool { return fl.Rank == r && fl.Role == knowledge.CauseRole })
	}
	whole := !slices.ContainsFunc(met, func(r int) bool { return !members[r] })
	for _, fl := range told {
		switch named := slices.Contains(met, fl.Rank); {
		case complete && !named:
			all = append(all, fl.become(knowledge.ConsequenceRole, "the error belongs to the ranks it lists", fl.At.Pos))
		case !complete && (!named || !whole):
			nobodys = append(nobodys, fl)
		}
	}
	return all, nobodys
}

// disown takes back whose failures are, and where.
func disown(all []*Failure) {
	for _, fl := range all {
		fl.Rank, fl.Proc, fl.Node = NoRank, nil, ""
	}
}
