package desk

import (
	"slices"

	"faultline/config"
	"faultline/messages"
	"faultline/workflow"
)

// Policy says who may do what, in which channel, against which cluster. It is plain data from the configuration, never
// changed once it is in use: a new configuration is a new Policy.
type Policy struct {
	// Channels are the rules by channel id. Any is the rule of all others; nil = they are connected to no cluster.
	Channels map[string]Rule
	Any      *Rule
	// Direct is the rule for direct messages with the bot; nil = they are off.
	Direct *Rule
	// Admins may do everywhere what Rule.Trusted may.
	Admins Who
	// Clusters are those that the bot knows, by name.
	Clusters map[string]Cluster
	// Identity maps chat users to user names on the clusters. It comes from the configuration alone: nobody declares
	// who they are.
	Identity map[string]string
	// Watches are what is looked at without anybody asking; the first that takes a job counts.
	Watches []Watch
	// AskForStorage: people are asked before a configured access to storage is used.
	AskForStorage bool
	// TypedStorage: there are hosts that the address of a storage cluster may name when a person types it.
	TypedStorage bool
	// Checklists are those of the teams' own.
	Checklists []config.Checklist
	// Price is what a GPU costs, for post-mortems.
	Price messages.Price
}

// Cluster is what the desk knows of a cluster.
type Cluster struct {
	// Roots are the directories below which "logs:" may name files.
	Roots []string
	// Profiles are the names of the accesses to the cluster's storage that are configured on the bot's host.
	Profiles []string
}

// Rule is what holds in one channel.
type Rule struct {
	// Clusters whose jobs may be asked about, the default one first.
	Clusters []string
	// Users (names on the cluster) own the jobs that may be shown here. Own: people see their own jobs too, by
	// Policy.Identity. Without both, any job.
	Users []string
	Own   bool
	// External: people of other organisations may use the bot here, and read along. Logs name hosts, paths and people.
	External bool
	// ReadOnly: here people read, and start nothing.
	ReadOnly bool
	// Trusted may give access to storage logs, cancel, mute and close, besides the person who asked.
	Trusted Who
}

// Who is a set of people.
type Who struct {
	Anyone bool
	Users  []string // chat user ids
	Groups []string // chat user group ids
}

// Bound says that the channel of an investigation may still ask about anything.
func (p *Policy) Bound(inv workflow.Investigation) bool {
	rule, ok := p.rule(inv.Home)
	return ok && len(rule.Clusters) > 0
}

// rule returns what holds where an investigation belongs: for a private one, the channel it was asked for in.
func (p *Policy) rule(h workflow.Home) (Rule, bool) {
	channel, direct := h.Channel, h.Private
	if h.AskedIn != "" {
		channel, direct = h.AskedIn, false
	}
	return p.of(channel, direct)
}

// of returns what holds in a channel, or in direct messages.
func (p *Policy) of(channel string, direct bool) (Rule, bool) {
	if r, ok := p.Channels[channel]; ok {
		return r, true
	}
	switch {
	case direct && p.Direct != nil:
		return *p.Direct, true
	case !direct && p.Any != nil:
		return *p.Any, true
	}
	return Rule{}, false
}

// Permit says whether an investigation may read what was located: the Permit of a workflow.Flow.
func (p *Policy) Permit(inv workflow.Investigation, found workflow.Found) bool {
	r, ok := p.rule(inv.Home)
	if !ok || !slices.Contains(r.Clusters, inv.Cluster) {
		return false
	}
	return p.owned(r, inv.Home.Requester, found.Users)
}

// owned says whether all owners are among those whose jobs the rule shows. Where a rule restricts and nobody knows who
// owns the logs, the answer is no.
func (p *Policy) owned(r Rule, requester string, owners []string) bool {
	if !r.restricts() {
		return true
	}
	allowed := slices.Clone(r.Users)
	if name := p.Identity[requester]; r.Own && name != "" {
		allowed = append(allowed, name)
	}
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(o string) bool { return !slices.Contains(allowed, o) })
}

func (r Rule) restricts() bool { return r.Own || len(r.Users) > 0 }

// roots are the directories that people of the rule may name files in.
func (p *Policy) roots(r Rule) []string {
	var roots []string
	for _, c := range r.Clusters {
		roots = append(roots, p.Clusters[c].Roots...)
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// OwnStorage is the only configured access to the storage of an investigation's cluster, where the configuration lets the bot use it
// without asking; "" otherwise.
func (p *Policy) OwnStorage(inv workflow.Investigation) string {
	r, ok := p.rule(inv.Home)
	if !ok || p.AskForStorage {
		return ""
	}
	if own := p.profiles(r, inv.Cluster); len(own) == 1 && slices.Contains(r.Clusters, inv.Cluster) {
		return own[0]
	}
	return ""
}

// profiles are the configured accesses to storage that people of the rule may choose, for a cluster or ("") for all.
func (p *Policy) profiles(r Rule, cluster string) []string {
	var names []string
	for _, c := range r.Clusters {
		if cluster == "" || c == cluster {
			names = append(names, p.Clusters[c].Profiles...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
