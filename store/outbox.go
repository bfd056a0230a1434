package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"faultline/workflow"
)

const postColumns = "id, investigation, kind, key, channel, thread, thread_ts, user_id, respond, link_to, payload, files, state, marked, attempts, last_error, ts, link, added, unasked, topic, settles"

func (c *conn) addPosts(ctx context.Context, posts []workflow.Post) error {
	for _, p := range posts {
		now, err := c.time(ctx)
		if err != nil {
			return err
		}
		files := []byte{}
		if len(p.Files) > 0 {
			if files, err = json.Marshal(p.Files); err != nil {
				return err
			}
		}
		_, err = c.exec(ctx, "INSERT INTO post (investigation, kind, key, channel, thread, thread_ts, user_id, respond, link_to, payload, files, added, unasked, topic, settles) VALUES "+several(15),
			p.Investigation, p.Kind, p.Key, p.Channel, p.Thread, p.ThreadTS, p.User, p.Respond, p.LinkTo, p.Payload, files, now, flag(!p.Answer), p.Topic, flag(p.Settles))
		if err != nil {
			return fmt.Errorf("adding the post %q: %w", p.Key, err)
		}
	}
	return nil
}

// posts reads the posts that fit; rest is everything after FROM post p.
func (c *conn) posts(ctx context.Context, rest string, args ...any) ([]workflow.Post, error) {
	var posts []workflow.Post
	err := c.each(ctx, "SELECT "+postColumns+" FROM post p "+rest, args, func(scan func(...any) error) error {
		var p workflow.Post
		var files []byte
		var marked, unasked, settles int
		err := scan(&p.ID, &p.Investigation, &p.Kind, &p.Key, &p.Channel, &p.Thread, &p.ThreadTS, &p.User, &p.Respond, &p.LinkTo,
			&p.Payload, &files, &p.State, &marked, &p.Attempts, &p.LastError, &p.TS, &p.Link, &p.Added, &unasked, &p.Topic, &settles)
		if err == nil && len(files) > 0 {
			err = json.Unmarshal(files, &p.Files)
		}
		p.Marked, p.Answer, p.Settles = marked != 0, unasked == 0, settles != 0
		posts = append(posts, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	return posts, nil
}

// SQLite uses the index of unsent posts only where its condition is repeated word for word: IN ('queued', 'sending').
const (
	// anythingQueued asks whether there is anything to do at all.
	anythingQueued = "SELECT 1 FROM post WHERE state IN ('queued', 'sending') AND state = 'queued' LIMIT 1"

	// coalesce and giveUp settle what needs no sending any more.
	coalesce = `UPDATE post SET state = 'coalesced', settled = ?
		WHERE state IN ('queued', 'sending') AND state = 'queued' AND kind = 'edit' AND EXISTS (
			SELECT 1 FROM post n WHERE n.investigation = post.investigation AND n.key = post.key
				AND n.kind = 'edit' AND n.state IN ('queued', 'sending', 'sent') AND n.id > post.id)`
	giveUp = `UPDATE post SET state = 'undeliverable', settled = ?, last_error = 'there is no message to change'
		WHERE state IN ('queued', 'sending') AND state = 'queued' AND kind IN ('edit', 'remove') AND NOT EXISTS (
			SELECT 1 FROM post m WHERE m.investigation = post.investigation AND m.key = post.key
				AND m.kind IN ('message', 'files') AND m.state IN ('queued', 'sending', 'sent'))`
)

// heldPost is the condition under which workflow.Outbox holds the post that the alias names; its placeholder is UnaskedPer ago.
func heldPost(alias string) string {
	return strings.NewReplacer("p.", alias+".", "{{most}}", strconv.Itoa(workflow.UnaskedMost), "{{case}}", workflow.KeyCase).Replace(`(
		p.unasked = 1 AND p.state = 'queued' AND p.investigation <> '' AND p.kind IN ('message', 'files')
		AND CASE WHEN p.key = '{{case}}' OR EXISTS (SELECT 1 FROM post c WHERE c.investigation = p.investigation AND c.key = '{{case}}'
				AND c.kind = 'message' AND c.state = 'sent') THEN 0 ELSE 1 END
			+ (SELECT count(*) FROM post s WHERE s.investigation = p.investigation AND s.unasked = 1 AND s.kind IN ('message', 'files')
				AND (s.state = 'sending' OR s.state = 'sent' AND s.settled > ?)) >= {{most}})`)
}

// needsPost joins the messages, as m, that the post of the alias waits for.
func needsPost(alias string) string {
	return strings.ReplaceAll(`SELECT 1 FROM post m WHERE m.investigation = p.investigation
		AND (p.link_to <> '' AND m.key = p.link_to OR p.thread <> '' AND m.key = p.thread)
		AND m.kind IN ('message', 'files') AND m.state IN ('queued', 'sending')
		AND NOT (m.channel = p.channel AND m.id >= p.id AND p.kind NOT IN ('ephemeral', 'edit'))`, "p.", alias+".")
}

var (
	// quieten settles held messages that need not be posted any more.
	quieten = `UPDATE post SET state = 'coalesced', settled = ?
		WHERE state IN ('queued', 'sending') AND ` + heldPost("post") + ` AND EXISTS (
			SELECT 1 FROM post n WHERE n.investigation = post.investigation AND n.state = 'queued' AND n.id > post.id
				AND (post.topic <> '' AND n.topic = post.topic AND n.unasked = 1 AND n.kind IN ('message', 'files')
					OR n.kind = 'edit' AND n.settles = 1 AND n.key = post.key))`

	backlog = "SELECT count(*), coalesce(min(added), 0) FROM post p WHERE p.state IN ('queued', 'sending') AND p.state = 'queued' AND NOT " + heldPost("p")

	// due is what may be sent now: heads of lanes, ephemeral posts, and edits of what is sent; and of these only what waits
	// for no other message, and is not held.
	due = `WHERE p.state IN ('queued', 'sending') AND p.state = 'queued' AND p.not_before <= ? AND NOT ` + heldPost("p") + `
	AND (p.kind = 'ephemeral'
		OR p.kind = 'edit'
			AND EXISTS (SELECT 1 FROM post m WHERE m.investigation = p.investigation AND m.key = p.key
				AND m.kind IN ('message', 'files') AND m.state = 'sent')
			AND NOT EXISTS (SELECT 1 FROM post e WHERE e.investigation = p.investigation AND e.key = p.key
				AND e.kind = 'edit' AND e.state = 'sending')
		OR p.kind NOT IN ('ephemeral', 'edit')
			AND NOT EXISTS (SELECT 1 FROM post o WHERE o.channel = p.channel AND o.id < p.id
				AND o.kind NOT IN ('ephemeral', 'edit') AND o.state IN ('queued', 'sending')
				AND NOT ` + heldPost("o") + ` AND NOT EXISTS (` + needsPost("o") + ` AND ` + heldPost("m") + `)))
	AND NOT EXISTS (` + needsPost("p") + `)
	ORDER BY p.id LIMIT ?`
)

// Due implements workflow.Outbox.
func (db *DB) Due(ctx context.Context, limit int) ([]workflow.Post, error) {
	// Most of the time there is nothing, and then nobody has to wait for the right to write.
	var n int
	queued, err := db.reader().one(ctx, anythingQueued, nil, &n)
	if err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	if !queued {
		return nil, nil
	}
	if limit <= 0 {
		limit = 100
	}
	var posts []workflow.Post
	err = db.inTx(ctx, "looking for posts to send", func(c *conn) error {
		now, err := c.time(ctx)
		if err != nil {
			return err
		}
		spoken := now.Add(-workflow.UnaskedPer)
		if _, err := c.exec(ctx, quieten, now, spoken); err != nil {
			return err
		}
		for _, settle := range []string{coalesce, giveUp} {
			if _, err := c.exec(ctx, settle, now); err != nil {
				return err
			}
		}
		posts, err = c.posts(ctx, due, now, spoken, spoken, spoken, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return posts, nil
}

// Unsettled implements workflow.Outbox.
func (db *DB) Unsettled(ctx context.Context) ([]workflow.Post, error) {
	return db.reader().posts(ctx, "WHERE state IN ('queued', 'sending') AND state = 'sending' ORDER BY id")
}

// Posts implements workflow.Outbox.
func (db *DB) Posts(ctx context.Context, investigation string) ([]workflow.Post, error) {
	return db.reader().posts(ctx, "WHERE investigation = ? ORDER BY id", investigation)
}

// Posted implements workflow.Outbox.
func (db *DB) Posted(ctx context.Context, investigation, key string) (workflow.Post, error) {
	posts, err := db.reader().posts(ctx, "WHERE investigation = ? AND key = ? AND kind IN ('message', 'files') AND state = 'sent' ORDER BY id DESC LIMIT 1", investigation, key)
	if err != nil {
		return workflow.Post{}, err
	}
	if len(posts) == 0 {
		return workflow.Post{}, workflow.ErrUnknown
	}
	return posts[0], nil
}

// changePost runs an UPDATE of post, given as what it sets from the time, on one post in one of the states.
func (db *DB) changePost(ctx context.Context, id int64, states, set string, args func(now time.Time) []any) error {
	return db.inTx(ctx, fmt.Sprintf("recording the result of post %d", id), func(c *conn) error {
		now, err := c.time(ctx)
		if err != nil {
			return err
		}
		n, err := c.exec(ctx, "UPDATE post SET "+set+" WHERE id = ? AND state IN "+states, append(args(now), id)...)
		if err == nil && n == 0 {
			err = workflow.ErrLost
		}
		return err
	})
}

// Sending implements workflow.Outbox.
func (db *DB) Sending(ctx context.Context, id int64) error {
	return db.inTx(ctx, fmt.Sprintf("noting that post %d is about to be sent", id), func(c *conn) error {
		if err := c.locked(ctx, "sending"); err != nil { // or two that count at the same time are one too many
			return err
		}
		now, err := c.time(ctx)
		if err != nil {
			return err
		}
		n, err := c.exec(ctx, "UPDATE post SET state = 'sending' WHERE id = ? AND state = 'queued' AND NOT "+heldPost("post"), id, now.Add(-workflow.UnaskedPer))
		if err == nil && n == 0 {
			err = workflow.ErrLost
		}
		return err
	})
}

// Sent implements workflow.Outbox.
func (db *DB) Sent(ctx context.Context, id int64, ts, link string) error {
	return db.changePost(ctx, id, "('sending')", "state = 'sent', settled = ?, ts = ?, link = ?",
		func(now time.Time) []any { return []any{now, ts, link} })
}

// Requeue implements workflow.Outbox.
func (db *DB) Requeue(ctx context.Context, id int64, after time.Duration, reason string, mark bool) error {
	set := "state = 'queued', not_before = ?, last_error = ?, attempts = attempts + 1"
	if mark {
		set += ", marked = 1"
	}
	return db.changePost(ctx, id, "('queued', 'sending')", set,
		func(now time.Time) []any { return []any{notBefore(now, after), reason} })
}

// Undeliverable implements workflow.Outbox.
func (db *DB) Undeliverable(ctx context.Context, id int64, reason string) error {
	return db.changePost(ctx, id, "('queued', 'sending')", "state = 'undeliverable', settled = ?, last_error = ?",
		func(now time.Time) []any { return []any{now, reason} })
}

// Backlog implements workflow.Outbox.
func (db *DB) Backlog(ctx context.Context) (n int, oldest time.Time, err error) {
	c := db.reader()
	now, err := c.time(ctx)
	if err == nil {
		_, err = c.one(ctx, backlog, []any{now.Add(-workflow.UnaskedPer)}, &n, &oldest)
	}
	if err != nil {
		err = fmt.Errorf("counting the outbox: %w", err)
	}
	return n, oldest, err
}
