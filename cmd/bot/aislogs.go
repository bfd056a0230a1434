package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"faultline/config"
	"faultline/fetch"
	"faultline/fetch/ais"
	"faultline/workflow"
)

// storageDir is what the names of the storage's logs begin with in a report: files of the job may be called alike.
const storageDir = "ais-logs"

// storageLogs takes the logs of the storage that were named, or pulls them from its cluster, below an existing directory.
func (d *diagnosis) storageLogs(ctx context.Context, e env, dir string) (workflow.Collection, error) {
	from, missing := d.aisLogs, []string(nil)
	if d.aisEndpoint != "" {
		from = filepath.Join(dir, "pulled")
		access, err := storageAccess(d.aisEndpoint)
		if err != nil {
			return workflow.Collection{}, err
		}
		missing, err = pullStorage(ctx, e, access, from)
		if ctx.Err() != nil {
			return workflow.Collection{}, ctx.Err()
		}
		if err != nil { // the job's own logs are there all the same
			said := "The storage's logs could not be pulled: " + err.Error() + "."
			fmt.Fprintln(e.err, said)
			return workflow.Collection{Warnings: []string{said}}, nil //nolint:nilerr // it is said
		}
	}
	if from == "" {
		return workflow.Collection{}, nil
	}
	spooled := filepath.Join(dir, storageDir)
	if err := os.Mkdir(spooled, 0o700); err != nil {
		return workflow.Collection{}, fmt.Errorf("keeping the storage's logs: %w", err)
	}
	set, err := fetch.Local(ctx, []string{from}, fetch.LocalOptions{SpoolDir: spooled})
	if err != nil {
		return workflow.Collection{}, fmt.Errorf("the storage's logs: %w", err)
	}
	for i := range set.Sources {
		set.Sources[i].Name = path.Join(storageDir, set.Sources[i].Name)
	}
	return workflow.Collection{Sources: set.Sources, Warnings: append(set.Warnings, missing...)}, nil
}

// pullStorage pulls the logs of all daemons into a new directory. It returns what did not come.
func pullStorage(ctx context.Context, e env, access ais.Access, dir string) ([]string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keeping the storage's logs: %w", err)
	}
	fmt.Fprintln(e.err, "pulling the logs of the storage's daemons")
	got, err := ais.NewClient(config.StorageAccess{}).Pull(ctx, access, dir)
	if err != nil {
		return nil, err
	}
	return got.Missing, nil
}

// maxTokenFile bounds what is read of a file with a token, or a CA's certificate.
const maxTokenFile = 1 << 20

// storageAccess is the access that the environment of the ais command gives. "env" stands for its endpoint.
func storageAccess(endpoint string) (ais.Access, error) {
	if endpoint == "env" {
		if endpoint = os.Getenv("AIS_ENDPOINT"); endpoint == "" {
			return ais.Access{}, usage("--ais-endpoint env: AIS_ENDPOINT is not set")
		}
	}
	token := config.Secret(os.Getenv("AIS_AUTHN_TOKEN"))
	if token == "" {
		b, err := fileOf("AIS_AUTHN_TOKEN_FILE")
		if err != nil {
			return ais.Access{}, err
		}
		token = config.Secret(b)
	}
	ca, err := fileOf("AIS_CLIENT_CA")
	if err != nil {
		return ais.Access{}, err
	}
	return ais.Stated(endpoint, token, ca), nil
}

// fileOf reads the file that a variable names, if it is set.
func fileOf(variable string) ([]byte, error) {
	name := os.Getenv(variable)
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return b, nil
}
