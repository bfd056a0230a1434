package desk

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"faultline/workflow"
)

// watching does `watch`, `watch pause west`, `watch resume west`.
func (a *act) watching(ctx context.Context, words []string) error {
	verb, cluster := "status", ""
	if len(words) > 0 {
		verb = strings.ToLower(words[0])
	}
	switch {
	case verb == "running":
		return a.watchRunning(ctx, len(words) > 1 && strings.EqualFold(words[1], "off"))
	case !slices.Contains([]string{"status", "pause", "resume"}, verb):
		return a.watchJob(ctx, words)
	case len(words) > 1:
		cluster = words[1]
	}
	if len(words) > 2 {
		return a.say(ctx, malformedWatch, code(shown(strings.Join(words, " "))))
	}
	watched := a.policy.watched()
	if cluster != "" {
		for name := range watched {
			if strings.EqualFold(name, cluster) {
				cluster = name
			}
		}
		if _, ok := watched[cluster]; !ok {
			return a.say(ctx, notWatched, cluster)
		}
	}
	if verb == "status" {
		return a.watchStatus(ctx)
	}
	if ok, err := a.among(ctx, a.policy.Admins); err != nil {
		return err
	} else if !ok {
		return a.refuse(ctx, "", refusedAdmin, adminsOnly, verb+" watching")
	}
	st, n, err := note[pauses](ctx, a.Store, notePaused)
	if err != nil {
		return err
	}
	_, is := st[cluster]
	text := say(watchPaused, orElse(cluster, "every cluster"), a.Command, strings.TrimSpace("watch resume "+cluster))
	switch {
	case verb == "pause":
		if st == nil {
			st = pauses{}
		}
		st[cluster] = pause{By: a.in.User, At: a.Now().UTC()}
	case cluster == "":
		text, st = say(watchResumed, "every cluster"), nil
	case is:
		delete(st, cluster)
		text = say(watchResumed, cluster)
		if p, all := st[""]; all {
			text += " " + say(watchAllPaused, person(p.By))
		}
	default:
		return a.say(ctx, watchNotPaused, cluster)
	}
	if n, err = with(n, st); err != nil {
		return err
	}
	p, err := a.post("", "", []string{text})
	if err != nil {
		return err
	}
	e := workflow.Entry{At: a.Now(), Kind: "answer", Actor: a.in.User, Text: "watching " + orElse(cluster, "all clusters") + ": " + verb}
	return again(a.Store.Save(ctx, workflow.Change{Posts: []workflow.Post{p}, Entries: []workflow.Entry{e}, Notes: []workflow.Note{n}, Done: a.lease}))
}

// watchStatus says what is watched for this channel, or of its clusters, and whether it works.
func (a *act) watchStatus(ctx context.Context) error {
	paused, _, err := note[pauses](ctx, a.Store, notePaused)
	if err != nil {
		return err
	}
	st, _, err := note[channelState](ctx, a.Store, noteChannel(a.in.Channel))
	if err != nil {
		return err
	}
	var out []string
	now := a.Now().UTC()
	watched := a.policy.watched()
	for _, cluster := range slices.Sorted(maps.Keys(watched)) {
		if !slices.Contains(a.rule.Clusters, cluster) {
			continue
		}
		poll, _, err := note[pollState](ctx, a.Store, notePoll(cluster))
		if err != nil {
			return err
		}
		p, is := paused.of(cluster)
		switch {
		case is:
			out = append(out, say(watchRests, cluster, person(p.By), ago(now.Sub(p.At))))
		case poll.Asked.IsZero():
			out = append(out, say(watchNever, cluster))
		case poll.Failed != "":
			out = append(out, say(watchFails, cluster, ago(now.Sub(poll.Failing)), poll.Failed))
		default:
			out = append(out, say(watchWorks, cluster, ago(now.Sub(poll.Asked))))
		}
	}
	if st.Running != nil {
		out = append(out, say(watchAllOn, a.Command))
	}
	if len(out) == 0 {
		return a.say(ctx, watchNothing)
	}
	if n := len(st.pending(now.Add(time.Hour))); n > 0 {
		out = append(out, say(watchDigest, count(n, "line"), a.Command))
	}
	for _, name := range slices.Sorted(maps.Keys(st.Muted)) {
		out = append(out, say(watchMuted, code(name), person(st.Muted[name].By)))
	}
	return a.answer(ctx, out)
}

// maxMuted bounds the names of one channel.
const maxMuted = 200

// muteName stops, or lets begin again, what is told of jobs with a name in this channel.
func (a *act) muteName(ctx context.Context, name string, off bool) error {
	if name == "" || len(name) > 200 {
		return a.say(ctx, muteWhat, a.Command)
	}
	if ok, err := a.among(ctx, a.rule.Trusted, a.policy.Admins); err != nil {
		return err
	} else if !ok {
		return a.refuse(ctx, "", refusedPerson, adminsOnly, a.verb+" "+name)
	}
	if !slices.ContainsFunc(a.policy.Watches, func(w Watch) bool { return w.Channel == a.in.Channel }) {
		return a.say(ctx, watchNothing)
	}
	st, n, err := note[channelState](ctx, a.Store, noteChannel(a.in.Channel))
	if err != nil {
		return err
	}
	_, is := st.Muted[name]
	text := say(nameMuted, code(name), a.Command, name)
	switch {
	case off && is:
		delete(st.Muted, name)
		text = say(nameUnmuted, code(name))
	case off:
		return a.say(ctx, nameNotMuted, code(name))
	case len(st.Muted) >= maxMuted:
		return a.say(ctx, mutedTooMany, maxMuted)
	default:
		if st.Muted == nil {
			st.Muted = map[string]pause{}
		}
		st.Muted[name] = pause{By: a.in.User, At: a.Now().UTC()}
	}
	if n, err = with(n, st); err != nil {
		return err
	}
	p, err := a.post("", "", []string{text})
	if err != nil {
		return err
	}
	e := workflow.Entry{At: a.Now(), Kind: "answer", Actor: a.in.User, Text: fmt.Sprintf("%s job-name %s in %s", a.verb, name, a.in.Channel)}
	return again(a.Store.Save(ctx, workflow.Change{Posts: []workflow.Post{p}, Entries: []workflow.Entry{e}, Notes: []workflow.Note{n}, Done: a.lease}))
}

// askDigest posts the digest of the channel now.
func (a *act) askDigest(ctx context.Context) error {
	p, err := a.post("", "", []string{say(digestPosted)})
	if err != nil {
		return err
	}
	n, err := a.digest(ctx, a.in.Channel, a.Now().UTC().Add(time.Hour), workflow.Change{Posts: []workflow.Post{p}, Done: a.lease})
	if err == nil && n == 0 {
		return a.say(ctx, digestNothing)
	}
	return again(err)
}

// among says whether the person is one of these.
func (a *act) among(ctx context.Context, whos ...Who) (bool, error) {
	for _, who := range whos {
		if who.Anyone || slices.Contains(who.Users, a.in.User) {
			return true, nil
		}
		for _, g := range who.Groups {
			in, err := a.Surface.InGroup(ctx, g, a.in.User)
			if err != nil {
				return false, fmt.Errorf("looking up a user group: %w", err)
			}
			if in {
				return true, nil
			}
		}
	}
	return false, nil
}
