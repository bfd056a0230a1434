package store

import (
	"context"
	"encoding/json"
	"fmt"

	"faultline/workflow"
)

// Load implements workflow.Store.
func (db *DB) Load(ctx context.Context, id string) (workflow.Investigation, error) {
	var data []byte
	var key string
	found, err := db.reader().one(ctx, "SELECT data, case_key FROM investigation WHERE id = ?", []any{id}, &data, &key)
	if err != nil {
		return workflow.Investigation{}, fmt.Errorf("loading investigation %s: %w", id, err)
	}
	if !found {
		return workflow.Investigation{}, workflow.ErrUnknown
	}
	inv, err := workflow.DecodeInvestigation(data)
	if err == nil && inv.Key == "" { // it was written before there were keys; the migration gave it one
		inv.Key = key
	}
	return inv, err
}

// Save implements workflow.Store.
func (db *DB) Save(ctx context.Context, ch workflow.Change) error {
	if err := checkJobs(ch.Jobs); err != nil {
		return err
	}
	return db.inTx(ctx, "saving", func(c *conn) error {
		if ch.Done != nil {
			if err := c.finish(ctx, ch.Done, "done", ""); err != nil {
				return err
			}
		}
		about := ch.About
		if ch.Investigation != nil {
			about = ch.Investigation.ID
			if err := c.saveInvestigation(ctx, *ch.Investigation); err != nil {
				return err
			}
		}
		if err := c.saveNotes(ctx, ch.Notes); err != nil {
			return err
		}
		if err := c.note(ctx, about, ch.Entries); err != nil {
			return err
		}
		if err := c.addPosts(ctx, ch.Posts); err != nil {
			return err
		}
		_, err := c.addJobs(ctx, ch.Jobs)
		return err
	})
}

func (c *conn) saveInvestigation(ctx context.Context, inv workflow.Investigation) error {
	version := 0
	if _, err := c.one(ctx, "SELECT version FROM investigation WHERE id = ?", []any{inv.ID}, &version); err != nil {
		return err
	}
	if version != inv.Version {
		return workflow.ErrConflict
	}
	inv.Version++
	data, err := inv.Encode()
	if err != nil {
		return err
	}
	s := inv.Summary()
	summary, err := json.Marshal(s)
	if err != nil {
		return err
	}
	columns := []any{inv.Version, s.State, inv.OpenKey(), s.Team, s.Channel, s.Cluster, s.Job, s.Requester, summary, data, inv.Key, s.ID}
	if version == 0 {
		_, err = c.exec(ctx, "INSERT INTO investigation (version, state, open_key, team, channel, cluster, job, requester, summary, data, case_key, id) VALUES "+several(len(columns)), columns...)
		return err
	}
	// Somebody else may have saved it a moment ago: the condition is looked at again once the row is ours.
	n, err := c.exec(ctx, `UPDATE investigation SET version = ?, state = ?, open_key = ?, team = ?, channel = ?, cluster = ?, job = ?, requester = ?, summary = ?, data = ?, case_key = ?
		WHERE id = ? AND version = ?`, append(columns, version)...)
	if err == nil && n == 0 {
		err = workflow.ErrConflict
	}
	return err
}

// note appends to a ledger.
func (c *conn) note(ctx context.Context, about string, entries []workflow.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if err := c.locked(ctx, "ledger "+clean(about)); err != nil {
		return err
	}
	seq := 0
	if _, err := c.one(ctx, "SELECT coalesce(max(seq), 0) FROM entry WHERE investigation = ?", []any{about}, &seq); err != nil {
		return err
	}
	for _, e := range entries {
		seq++
		if e.At.IsZero() {
			now, err := c.time(ctx)
			if err != nil {
				return err
			}
			e.At = now
		}
		_, err := c.exec(ctx, "INSERT INTO entry (investigation, seq, at, kind, from_state, event, to_state, actor, words) VALUES "+several(9),
			about, seq, e.At, e.Kind, e.From, e.Event, e.To, e.Actor, e.Text)
		if err != nil {
			return err
		}
	}
	return nil
}

// Ledger implements workflow.Store.
func (db *DB) Ledger(ctx context.Context, id string) ([]workflow.Entry, error) {
	var entries []workflow.Entry
	err := db.reader().each(ctx, "SELECT seq, at, kind, from_state, event, to_state, actor, words FROM entry WHERE investigation = ? ORDER BY seq", []any{id},
		func(scan func(...any) error) error {
			var e workflow.Entry
			err := scan(&e.Seq, &e.At, &e.Kind, &e.From, &e.Event, &e.To, &e.Actor, &e.Text)
			entries = append(entries, e)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("reading the ledger of %q: %w", id, err)
	}
	return entries, nil
}

// Find implements workflow.Durable.
func (db *DB) Find(ctx context.Context, q workflow.Query) ([]workflow.Summary, error) {
	query, args := "SELECT summary FROM investigation WHERE 1 = 1", []any{}
	for _, f := range []struct{ column, want string }{
		{"id", q.ID}, {"team", q.Team}, {"channel", q.Channel}, {"cluster", q.Cluster}, {"job", q.Job}, {"requester", q.Requester},
	} {
		if f.want != "" {
			query += " AND " + f.column + " = ?"
			args = append(args, f.want)
		}
	}
	if len(q.States) > 0 {
		query += " AND state IN " + several(len(q.States))
		args = append(args, states(q.States)...)
	}
	if q.Open {
		settled := states(workflow.SettledStates())
		query += " AND state NOT IN " + several(len(settled))
		args = append(args, settled...)
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	var found []workflow.Summary
	err := db.reader().each(ctx, query+" ORDER BY opened DESC LIMIT ?", append(args, q.Limit), func(scan func(...any) error) error {
		var b []byte
		if err := scan(&b); err != nil {
			return err
		}
		var s workflow.Summary
		if err := json.Unmarshal(b, &s); err != nil {
			return fmt.Errorf("a stored summary is damaged: %w", err)
		}
		found = append(found, s)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for investigations: %w", err)
	}
	return found, nil
}

func states(list []workflow.State) []any {
	var args []any
	for _, s := range list {
		args = append(args, s)
	}
	return args
}
