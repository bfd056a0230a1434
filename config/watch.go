package config

import (
	"fmt"
	"path"
	"slices"
	"time"
)

// Watch says which jobs of a cluster that end badly are looked at without anybody asking, and where that is told. The first
// watch that fits takes a job.
type Watch struct {
	// Channel is where it is told.
	Channel string `yaml:"channel"`
	// Every is how often the cluster's accounting is asked; of several watches of a cluster the shortest counts.
	Every Duration `yaml:"every"`
	// Partitions, Accounts and Users on the cluster; empty = all.
	Partitions []string `yaml:"partitions"`
	Accounts   []string `yaml:"accounts"`
	Users      []string `yaml:"users"`
	// MinNodes and MinDuration: smaller and shorter jobs are not looked at.
	MinNodes    int      `yaml:"min_nodes"`
	MinDuration Duration `yaml:"min_duration"`
	// ExcludeNames are globs of names of jobs that are not looked at.
	ExcludeNames []string `yaml:"exclude_names"`
	// TellOwnerFirst: the owner, where identities knows them, hears of it in direct messages before the channel does.
	TellOwnerFirst bool `yaml:"tell_owner_first"`
	// PerHour is how many investigations are posted in the channel within an hour; the others are in the digest.
	PerHour int `yaml:"per_hour"`
	// Digest is when, in UTC, the channel gets the list of what was not posted: 15:04.
	Digest string `yaml:"digest"`
}

// DigestAt is the time of the digest, since midnight in UTC.
func (w Watch) DigestAt() time.Duration {
	t, err := time.Parse("15:04", w.Digest)
	if err != nil {
		return 0
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}

// The bounds of watch.every: cron's resolution, and less than what a query looks back.
const (
	minEvery = time.Minute
	maxEvery = 30 * time.Minute
)

func (w *Watch) fill() {
	orElse(&w.Every, Duration(2*time.Minute))
	orElse(&w.PerHour, 6)
	orElse(&w.Digest, "08:00")
}

func (c *Config) validateWatch(bad func(path, format string, args ...any)) {
	for i, cl := range c.Clusters {
		if cl.Name == "" && (len(cl.Watch) > 0 || cl.HookSecret != "") {
			bad(fmt.Sprintf("clusters[%d].name", i), "a watched cluster needs a name, for people to type and for its webhook URL")
		}
		if s := cl.HookSecret.Reveal(); s != "" && len(s) < 16 {
			bad(fmt.Sprintf("clusters[%d].hook_secret", i), "is shorter than 16 characters, and anyone who guesses it can make the bot query the cluster; `openssl rand -hex 32` generates one")
		}
		if cl.HookSecret != "" && c.Ops.Listen == "" {
			bad(fmt.Sprintf("clusters[%d].hook_secret", i), "needs ops.listen so that the cluster can reach the bot")
		}
		if cl.HookSecret != "" && len(cl.Watch) == 0 {
			bad(fmt.Sprintf("clusters[%d].hook_secret", i), "nothing would be posted about this cluster's jobs: add a watch")
		}
		if len(cl.Watch) > 0 && !cl.Slurm.Asked() {
			bad(fmt.Sprintf("clusters[%d].watch", i), "needs slurm.commands or slurm.rest to find out which jobs have ended")
		}
		for j, w := range cl.Watch {
			c.validateOneWatch(bad, fmt.Sprintf("clusters[%d].watch[%d]", i, j), cl.Name, w)
		}
	}
}

func (c *Config) validatePush(bad func(path, format string, args ...any)) {
	for i, cl := range c.Clusters {
		at := fmt.Sprintf("clusters[%d].push", i)
		for j, s := range cl.Push.Secrets {
			if len(s.Reveal()) < 16 {
				bad(fmt.Sprintf("%s.secrets[%d]", at, j), "is shorter than 16 characters, and anyone who guesses it can send logs for any job; `openssl rand -hex 32` generates one")
			}
		}
		if len(cl.Push.Secrets) == 0 {
			continue
		}
		if cl.Name == "" {
			bad(fmt.Sprintf("clusters[%d].name", i), "a cluster whose logs are pushed needs a name, for its push URL")
		}
		if c.Ops.Listen == "" {
			bad(at+".secrets", "needs ops.listen so that log senders can reach the bot")
		}
		if cl.Push.Keep < Duration(time.Hour) {
			bad(at+".keep", "%s is less than an hour", cl.Push.Keep)
		}
	}
}

func (c *Config) validateOneWatch(bad func(path, format string, args ...any), at, cluster string, w Watch) {
	k := slices.IndexFunc(c.Channels, func(ch Channel) bool { return ch.ID == w.Channel })
	switch {
	case !slackID(w.Channel, "CG"):
		bad(at+".channel", "%q is not a channel ID. Channel IDs start with C (in Slack: channel name, then About)", w.Channel)
	case k < 0 && !c.Access.AnyChannel:
		bad(at+".channel", "%q is not one of the configured channels, so the bot may not post there", w.Channel)
	case k >= 0 && len(c.Channels[k].Clusters) > 0 && !slices.Contains(c.Channels[k].Clusters, cluster):
		bad(at+".channel", "%q may not see the cluster %q: add it to the channel's clusters", w.Channel, cluster)
	case k >= 0 && c.Channels[k].Own && len(c.Channels[k].Users) == 0:
		bad(at+".channel", "%q shows people only their own jobs, and a watch belongs to no one: list the channel's users", w.Channel)
	}
	if e := w.Every.Std(); e < minEvery || e > maxEvery || e%time.Minute != 0 {
		bad(at+".every", "%s is not a whole number of minutes between %s and %s", w.Every, Duration(minEvery), Duration(maxEvery))
	}
	if w.MinNodes < 0 {
		bad(at+".min_nodes", "%d is negative", w.MinNodes)
	}
	if w.MinDuration < 0 {
		bad(at+".min_duration", "%s is negative", w.MinDuration)
	}
	if w.PerHour < 1 || w.PerHour > 60 {
		bad(at+".per_hour", "%d is not between 1 and 60; leave the watch out to post nothing", w.PerHour)
	}
	if _, err := time.Parse("15:04", w.Digest); err != nil {
		bad(at+".digest", "%q is not a time of day such as 08:00 (UTC)", w.Digest)
	}
	for i, p := range w.ExcludeNames {
		if _, err := path.Match(p, ""); err != nil {
			bad(fmt.Sprintf("%s.exclude_names[%d]", at, i), "%q is not a glob: %v", p, err)
		}
	}
}
