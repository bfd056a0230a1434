package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"faultline/config"
	"faultline/fetch/ais"
)

// storageAccess is the access that the environment of the ais command gives, and what has to be said about it. "env"
// stands for its endpoint.
func storageAccess(endpoint string) (ais.Access, []string, error) {
	if endpoint == "env" {
		if endpoint = os.Getenv("AIS_ENDPOINT"); endpoint == "" {
			return ais.Access{}, nil, usage("--ais-endpoint env: AIS_ENDPOINT is not set")
		}
	}
	a := ais.Access{Endpoint: endpoint, Token: config.Secret(os.Getenv("AIS_AUTHN_TOKEN"))}
	var token, key []byte
	files := []struct {
		variable string
		to       *[]byte
	}{{"AIS_CLIENT_CA", &a.CA}, {"AIS_CRT", &a.Certificate}, {"AIS_CRT_KEY", &key}}
	if a.Token == "" {
		files = append(files, struct {
			variable string
			to       *[]byte
		}{"AIS_AUTHN_TOKEN_FILE", &token})
	}
	for _, f := range files {
		var err error
		if *f.to, err = fileOf(f.variable); err != nil {
			return ais.Access{}, nil, err
		}
	}
	a.Key = config.Secret(key)
	if a.Token == "" {
		a.Token = config.Secret(token)
	}
	if (a.Certificate == nil) != (key == nil) {
		return ais.Access{}, nil, usage("AIS_CRT and AIS_CRT_KEY must both be set: one is missing")
	}
	said, err := trust(&a)
	if err != nil {
		return ais.Access{}, nil, err
	}
	return ais.Stated(a), said, nil
}

// trust decides how the cluster's certificate is checked. Whoever sets the variable that skips it permits that, for a run
// of the command; a CA that is stated is the stricter wish.
func trust(a *ais.Access) (said []string, err error) {
	if a.CA == nil {
		if a.CA, err = fileOf("AIS_SERVER_CRT"); err != nil {
			return nil, err
		}
		if a.CA != nil {
			said = append(said, "AIS_SERVER_CRT is a server's certificate; I use it as the CA. The variable that clients read is AIS_CLIENT_CA.")
		}
	}
	skip, err := truth("AIS_SKIP_VERIFY_CRT")
	switch {
	case err != nil:
		return nil, err
	case skip && a.CA != nil:
		said = append(said, "AIS_SKIP_VERIFY_CRT is set, but so is a CA: the storage's certificate was checked with the CA.")
	case skip:
		a.SkipVerify = true
		said = append(said, "AIS_SKIP_VERIFY_CRT is set: the storage's certificate was not checked, and whatever server answered got the token.")
	}
	return said, nil
}

// truth reads a variable that says yes or no as AIStore does; not set is no.
func truth(variable string) (bool, error) {
	value := strings.ToLower(strings.TrimSpace(os.Getenv(variable)))
	switch value {
	case "", "n", "no", "off":
		return false, nil
	case "y", "yes", "on":
		return true, nil
	}
	b, err := strconv.ParseBool(value)
	if err != nil {
		return false, usage("%s: neither true nor false", variable)
	}
	return b, nil
}

// maxAccessFile bounds what is read of a file with a token, a key or certificates.
const maxAccessFile = 1 << 20

// fileOf reads the file that a variable names; nil if it is not set.
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
	b, err := io.ReadAll(io.LimitReader(f, maxAccessFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return b, nil
}
