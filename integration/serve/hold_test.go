package serve

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// state is where the newest investigation stands.
func (m *mortal) state() string {
	return m.ask("SELECT state FROM investigation ORDER BY opened DESC LIMIT 1")
}

// diesIn kills the bot once, when the investigation is in a state. Held, the state cannot be left: the change that would leave
// it waits in the database until the bot is dead. The channel is closed when it is.
func (m *mortal) diesIn(state string, held bool) <-chan struct{} {
	m.t.Helper()
	stuck, release := func() bool { return true }, func() {}
	if held {
		hold := m.holdSQLite
		if m.kind == inPostgres {
			hold = m.holdPostgres
		}
		stuck, release = hold(state)
	}
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		for deadline := time.Now().Add(lifetime); m.state() != state || !stuck(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				m.t.Errorf("it never is %s", state)
				return
			}
		}
		m.now("while "+state, release)
	}()
	return dead
}

// holdSQLite makes leaving a state an endless computation.
func (m *mortal) holdSQLite(state string) (stuck func() bool, release func()) {
	m.t.Helper()
	m.exec("CREATE TRIGGER hold BEFORE UPDATE ON investigation WHEN OLD.state = '" + state + "' AND NEW.state <> OLD.state BEGIN " +
		"SELECT count(*) FROM sqlite_master a, sqlite_master b, sqlite_master c, sqlite_master d, sqlite_master e, sqlite_master f, sqlite_master g, sqlite_master h; END")
	other, err := sql.Open("sqlite", "file:"+m.dir+"/data/faultline.db?_txlock=immediate&_pragma=busy_timeout(0)")
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = other.Close() })
	stuck = func() bool {
		for range 10 { // others write too, but not for so long
			if tx, err := other.BeginTx(context.Background(), nil); err == nil {
				_ = tx.Rollback()
				return false
			}
			time.Sleep(10 * time.Millisecond)
		}
		return true
	}
	return stuck, func() { m.exec("DROP TRIGGER hold") }
}

var heldStates atomic.Int64

// holdPostgres makes leaving a state wait for a lock.
func (m *mortal) holdPostgres(state string) (stuck func() bool, release func()) {
	m.t.Helper()
	key := 1000 + heldStates.Add(1)
	conn, err := m.db.Conn(context.Background())
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := conn.ExecContext(context.Background(), fmt.Sprintf("SELECT pg_advisory_lock(%d)", key)); err != nil {
		m.t.Fatal(err)
	}
	m.exec(fmt.Sprintf("CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.state = '%s' AND NEW.state <> OLD.state "+
		"THEN PERFORM pg_advisory_xact_lock(%d); END IF; RETURN NEW; END $$", state, key))
	m.exec("CREATE TRIGGER hold BEFORE UPDATE ON investigation FOR EACH ROW EXECUTE FUNCTION hold()")
	stuck = func() bool {
		return m.ask(fmt.Sprintf("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = %d", key)) != "0"
	}
	return stuck, func() {
		_, err := conn.ExecContext(context.Background(), "SELECT pg_advisory_unlock_all()")
		if err = errors.Join(err, conn.Close()); err != nil {
			m.t.Error(err)
		}
		m.exec("DROP TRIGGER hold ON investigation") // waits until the database has noticed that nobody wants its answer
	}
}
