package config

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"faultline/config/strict"
)

// Slurm says how a cluster is asked about its jobs. With neither commands nor a URL nobody is asked: logs are found by the job's
// id in their names.
type Slurm struct {
	// Commands is where SLURM's own commands are run: "local" on this machine, "ssh" on the login node; "" nowhere.
	Commands string `yaml:"commands"`
	Rest     Rest   `yaml:"rest"`
	// Settle is how long after a job's end its accounting may still change; 0 = 40s.
	Settle Duration `yaml:"settle"`
}

// Asked says that the cluster can be asked.
func (s Slurm) Asked() bool { return s.Commands != "" || s.Rest.URL != "" }

// Submit is what the bot may submit: tests that narrow a fault down, each after a click. With enabled false it submits nothing.
type Submit struct {
	Enabled bool `yaml:"enabled"`
	// Commands are the tests that may run, word by word, and Partitions where.
	Commands   []string `yaml:"commands"`
	Partitions []string `yaml:"partitions"`
	// GPUHours is what the tests of one case may cost together, by their time limits.
	GPUHours float64 `yaml:"gpu_hours"`
	// Dir is the directory on the cluster that the tests run in and write to.
	Dir string `yaml:"dir"`
}

func (c Cluster) validateSubmit(at string, bad complain) {
	s := c.Submit
	if !s.Enabled {
		return
	}
	if c.Slurm.Commands == "" {
		bad(at+".submit.enabled", "needs slurm.commands: local or ssh, to run sbatch")
	}
	for key, list := range map[string][]string{".submit.commands": s.Commands, ".submit.partitions": s.Partitions} {
		if len(list) == 0 || slices.Contains(list, "") {
			bad(at+key, "must list what may be used: nothing else is submitted")
		}
	}
	if !(s.GPUHours > 0 && s.GPUHours < 1e6) {
		bad(at+".submit.gpu_hours", "%g is not a number above 0", s.GPUHours)
	}
	if !path.IsAbs(s.Dir) {
		bad(at+".submit.dir", "%q is not an absolute path", s.Dir)
	}
}

// Rest is slurmrestd.
type Rest struct {
	URL string `yaml:"url"`
	// TokenFile holds the JWT and is read for each request; something else writes new ones into it.
	TokenFile string `yaml:"token_file"`
	// User is sent with tokens that were issued for somebody else; "" = the token's own.
	User   string `yaml:"user"`
	CAFile string `yaml:"ca_file"`
}

// SSH says how the login node is reached.
type SSH struct {
	Address string `yaml:"address"`
	User    string `yaml:"user"`
	// KeyFile is a private key without a passphrase, Agent the socket of an agent; one of both is needed.
	KeyFile    string   `yaml:"key_file"`
	Agent      string   `yaml:"agent"`
	KnownHosts []string `yaml:"known_hosts"`
	// Jump are the hosts on the way, the first one first.
	Jump []Hop `yaml:"jump"`
}

// Hop is a host on the way to the login node.
type Hop struct {
	Address string `yaml:"address"`
	User    string `yaml:"user"`
	KeyFile string `yaml:"key_file"`
	Agent   string `yaml:"agent"`
}

// Bucket is an S3 bucket that logs are copied to.
type Bucket struct {
	Name      string `yaml:"bucket"`
	Endpoint  string `yaml:"endpoint"`
	Region    string `yaml:"region"`
	AccessKey Secret `yaml:"access_key"`
	SecretKey Secret `yaml:"secret_key"`
}

// The places where logs may lie, and where commands may run.
const (
	Mounted  = "mounted"
	OverSSH  = "ssh"
	InBucket = "s3"
	Local    = "local"
)

// maxLate bounds how long files are looked for: each look asks the cluster.
const maxLate = Duration(24 * time.Hour)

// LogSources are the values of logs.source.
var LogSources = []string{Mounted, OverSSH, InBucket}

// IsMounted says that the roots are directories of this machine.
func (l Logs) IsMounted() bool { return l.Source == "" || l.Source == Mounted }

type complain = func(path, format string, args ...any)

func (c Cluster) validateSlurm(at string, bad complain) {
	s := c.Slurm
	if !slices.Contains([]string{"", Local, OverSSH}, s.Commands) {
		bad(at+".slurm.commands", "%q is neither local nor ssh%s", s.Commands, strict.DidYouMean(s.Commands, []string{Local, OverSSH}))
	}
	if s.Settle < 0 {
		bad(at+".slurm.settle", "%s is negative", s.Settle)
	}
	if s.Rest.URL != "" {
		u, err := url.Parse(s.Rest.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			bad(at+".slurm.rest.url", "is not a URL such as https://slurm.example.org:6820")
		}
		if s.Rest.TokenFile == "" {
			bad(at+".slurm.rest.token_file", "is empty: slurmrestd requires a token")
		}
	}
	for key, file := range map[string]string{".slurm.rest.token_file": s.Rest.TokenFile, ".slurm.rest.ca_file": s.Rest.CAFile} {
		if file != "" && !filepath.IsAbs(file) {
			bad(at+key, "%q is not an absolute path, and the bot may be started from any directory", file)
		}
	}
	if s.Commands == OverSSH || c.Logs.Source == OverSSH {
		c.SSH.validate(at+".ssh", bad)
	}
}

func (s SSH) validate(at string, bad complain) {
	who := func(at, address, user, key, agent string) {
		if address == "" || strings.ContainsAny(address, " \t\n/@") {
			bad(at+".address", "%q is neither host nor host:port", address)
		}
		if user == "" {
			bad(at+".user", "is empty: give the bot's account on that host")
		}
		if key == "" && agent == "" {
			bad(at+".key_file", "is empty, and so is agent: the bot needs one of the two to log in")
		}
		for name, file := range map[string]string{".key_file": key, ".agent": agent} {
			if file != "" && !filepath.IsAbs(file) {
				bad(at+name, "%q is not an absolute path, and the bot may be started from any directory", file)
			}
		}
	}
	who(at, s.Address, s.User, s.KeyFile, s.Agent)
	for i, h := range s.Jump {
		who(fmt.Sprintf("%s.jump[%d]", at, i), h.Address, h.User, h.KeyFile, h.Agent)
	}
	if len(s.KnownHosts) == 0 {
		bad(at+".known_hosts", "is empty: the bot connects only to hosts whose keys it knows")
	}
	for i, f := range s.KnownHosts {
		if !filepath.IsAbs(f) {
			bad(fmt.Sprintf("%s.known_hosts[%d]", at, i), "%q is not an absolute path, and the bot may be started from any directory", f)
		}
	}
}

// CheckTemplate says what is wrong with a name of logs as SLURM makes them, "" where nothing is.
func CheckTemplate(t string) string {
	switch {
	case !strings.Contains(t, "%j") && !strings.Contains(t, "%J") && !strings.Contains(t, "%A") && !strings.Contains(t, "{job}"):
		return fmt.Sprintf("%q contains none of %%j, %%A and {job}, so it would match every job's logs", t)
	case slices.Contains(strings.Split(t, "/"), ".."):
		return fmt.Sprintf("%q must stay under the roots", t)
	case strings.ContainsAny(t, "?[\x1a") || strings.Contains(strings.TrimSuffix(t, "/**"), "**"):
		return fmt.Sprintf("%q has an unsupported wildcard: * matches part of a name, and a final /** matches everything under a directory", t)
	}
	return ""
}

func (c Cluster) validateLogs(at string, bad complain) {
	l := c.Logs
	if l.Source != "" && !slices.Contains(LogSources, l.Source) {
		bad(at+".logs.source", "%q is not one of %s%s", l.Source, strings.Join(LogSources, ", "), strict.DidYouMean(l.Source, LogSources))
	}
	for j, root := range l.Roots {
		key := fmt.Sprintf("%s.logs.roots[%d]", at, j)
		switch {
		case l.Source == InBucket:
			if root != "" && path.Clean("/"+root) != "/"+root {
				bad(key, "%q is not a bucket prefix: it must not start or end with a slash", root)
			}
		case !filepath.IsAbs(root):
			bad(key, "%q is not an absolute path, and the bot may be started from any directory", root)
		}
	}
	if c.Slurm.Asked() && len(l.Roots) == 0 {
		bad(at+".logs.roots", "is empty: the bot reads only under these paths, wherever a job says its logs are")
	}
	globs := func(key, p string) {
		switch _, err := filepath.Match(p, ""); {
		case err != nil:
			bad(key, "%q is not a glob: %v", p, err)
		case !strings.Contains(p, "{job}"):
			bad(key, "%q contains no {job}, so it would match every job's logs", p)
		case filepath.IsAbs(p) || slices.Contains(strings.Split(p, "/"), ".."):
			bad(key, "%q must stay under the roots", p)
		}
	}
	for j, p := range l.Patterns {
		globs(fmt.Sprintf("%s.logs.patterns[%d]", at, j), p)
	}
	for j, p := range l.Evidence {
		globs(fmt.Sprintf("%s.logs.evidence[%d]", at, j), p)
	}
	for j, t := range l.Templates {
		key := fmt.Sprintf("%s.logs.templates[%d]", at, j)
		if wrong := CheckTemplate(t); wrong != "" {
			bad(key, "%s", wrong)
		} else if !c.Slurm.Asked() {
			bad(key, "needs slurm.commands or slurm.rest to look up %%j, %%u and %%n")
		}
	}
	if l.Quiet < 0 {
		bad(at+".logs.quiet", "%s is negative", l.Quiet)
	}
	if l.Late != nil && (*l.Late < 0 || *l.Late > maxLate) {
		bad(at+".logs.late", "%s is not between 0 (never) and %s", *l.Late, maxLate)
	}
	if l.RateMB < 0 {
		bad(at+".logs.rate_mb", "%d is negative", l.RateMB)
	}
	if l.Requests < 0 {
		bad(at+".logs.requests", "%d is negative", l.Requests)
	}
	b := l.S3
	if l.Source == InBucket && (b.Name == "" || strings.ContainsAny(b.Name, "/ \t\n")) {
		bad(at+".logs.s3.bucket", "%q is not a bucket name", b.Name)
	}
	if b.Endpoint != "" {
		u, err := url.Parse(b.Endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			bad(at+".logs.s3.endpoint", "is not a URL such as https://s3.example.org")
		}
	}
	if (b.AccessKey == "") != (b.SecretKey == "") {
		bad(at+".logs.s3.access_key", "goes with secret_key: set both, or neither to use the AWS tools' default credentials")
	}
}
