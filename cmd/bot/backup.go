package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newBackupCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup [flags] FILE",
		Short: "back up the store to a file while the bot is running",
		Long: `
Takes a consistent copy of the SQLite database into a new file readable only by its owner. The bot can keep running. Files
next to the database (attachments, uploads, unpacked archives) never change once written: copy their folders
after the database, with any tool. A PostgreSQL database is backed up with pg_dump.

Examples:
  bot backup --config /etc/faultline.yaml /backup/faultline-$(date +%F).db

Exit code: 0 on success; 1 when the store cannot be copied; 2 on a usage error.`,
	}
	fs := cmd.Flags()
	var c common
	c.declare(fs)
	cmd.RunE = e.does(func(ctx context.Context, e env, args []string) (int, error) {
		if len(args) != 1 {
			return exitUsage, usage("name one file to write: bot backup /backup/faultline.db")
		}
		cfg, _, err := c.load(e.err)
		if err != nil {
			return exitUsage, err
		}
		if cfg.Data.Postgres != "" {
			return exitUsage, usage("the store is a PostgreSQL database: back it up with pg_dump, which needs no downtime either")
		}
		dir, err := dataDir(cfg)
		if err != nil {
			return exitUnreadable, err
		}
		if err := copySQLite(ctx, databaseFile(dir), args[0]); err != nil {
			return exitUnreadable, err
		}
		if err := opens(ctx, args[0]); err != nil {
			return exitUnreadable, fmt.Errorf("the copy is unusable: %w", err)
		}
		fmt.Fprintf(e.out, "%s is a copy of the store; it was opened and checked. Copy these folders too, now or later:\n", args[0])
		for _, name := range []string{"blobs", "uploads", "spool"} {
			fmt.Fprintf(e.out, "  %s/%s\n", dir, name)
		}
		return exitOK, nil
	})
	return cmd
}

// opens proves that a copy is a whole database.
func opens(ctx context.Context, file string) error {
	db, err := readSQLite(file)
	if err != nil {
		return err
	}
	defer db.Close()
	return integrity(ctx, db)
}
