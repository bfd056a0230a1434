package store

import (
	"path/filepath"
	"strings"
	"testing"
)

// What is asked every second looks at what is unfinished only, however much there is of what is over.
func TestWhatIsAskedAllTheTimeReadsNoWholeTable(t *testing.T) {
	db, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "bot.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{
		anythingQueued, quieten, coalesce, giveUp, backlog, "SELECT " + postColumns + " FROM post p " + due, oldest(2),
		"SELECT data FROM investigation WHERE id = ?",
	} {
		args := make([]any, strings.Count(query, "?"))
		for i := range args {
			args[i] = 1
		}
		err := db.reader().each(t.Context(), "EXPLAIN QUERY PLAN "+query, args, func(scan func(...any) error) error {
			var id, parent, unused int
			var detail string
			if err := scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			if strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "_un") {
				t.Errorf("%s\nin\n%s", detail, query)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
