// Package config is the typed configuration: read strictly, checked at the start, never looked up later. Every key is
// explained in config.example.yaml at the root of the repository, and a test holds the two together.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"faultline/config/strict"
)

// Config is the whole file.
type Config struct {
	Clusters []Cluster `yaml:"clusters"`
	// Knowledge are files of the site's own knowledge (docs/site-knowledge.md).
	Knowledge  []string          `yaml:"knowledge"`
	Output     Output            `yaml:"output"`
	Limits     Limits            `yaml:"limits"`
	Logging    Logging           `yaml:"logging"`
	Slack      Slack             `yaml:"slack"`
	Access     Access            `yaml:"access"`
	Channels   []Channel         `yaml:"channels"`
	Identities map[string]string `yaml:"identities"`
	Questions  Questions         `yaml:"questions"`
	Data       Data              `yaml:"data"`
	Archive    Archive           `yaml:"archive"`
	Ops        Ops               `yaml:"ops"`
	Web        Web               `yaml:"web"`
	// Storage are AIStore clusters with an access that the bot has by itself.
	Storage       []Storage     `yaml:"storage"`
	StorageAccess StorageAccess `yaml:"storage_access"`
	// Checklists are a team's own, for bot check --checklist.
	Checklists []Checklist `yaml:"checklists"`
	// Baselines are what healthy nodes reach at least, for bot check.
	Baselines Baselines `yaml:"baselines"`
	// Costs turn lost GPU hours into money, for post-mortems.
	Costs Costs `yaml:"costs"`
}

// Cluster is one cluster that jobs run on.
type Cluster struct {
	Name string `yaml:"name"`
	// LoginHost is the [user@]host that people copy logs from; it fills the scp commands of questions. "" means that
	// the logs are on a file system mounted here, and the commands use cp.
	LoginHost string `yaml:"login_host"`
	// Zone is that of the clocks of its machines, such as America/Los_Angeles or +09:00; "" = not stated. It relates the times of jobs
	// to those of their storage.
	Zone string `yaml:"zone"`
	// SSH is how the bot reaches the login node, for commands and for logs.
	SSH   SSH   `yaml:"ssh"`
	Slurm Slurm `yaml:"slurm"`
	Logs  Logs  `yaml:"logs"`
	// Watch: jobs that end badly are looked at without anybody asking; empty = never.
	Watch []Watch `yaml:"watch"`
	// HookSecret is shared with the cluster's EpilogSlurmctld, which then need not be waited for; "" = no webhook.
	HookSecret Secret `yaml:"hook_secret"`
	// Submit lets the bot submit tests that isolate a fault.
	Submit Submit `yaml:"submit"`
	// Push lets the owners of jobs hand in their logs.
	Push Push `yaml:"push"`
}

// Push says who may hand in logs (bot push), and for how long they are kept.
type Push struct {
	// Secrets are shared with those who push; any of them is good. None = nothing is taken.
	Secrets []Secret `yaml:"secrets"`
	Keep    Duration `yaml:"keep"`
}

// Logs says where the logs of jobs are.
type Logs struct {
	// Source is where the roots are: mounted here, on the login node, or in a bucket; "" = mounted.
	Source string `yaml:"source"`
	S3     Bucket `yaml:"s3"`
	// Templates are names as SLURM makes them, below the roots, for jobs whose scripts do not tell.
	Templates []string `yaml:"templates"`
	// Roots are directories that are searched for the logs of a job.
	Roots []string `yaml:"roots"`
	// RateMB and Requests spare whoever serves the files: megabytes a second, and questions or open files at a time; 0 = no
	// bound. Nothing that is mounted is slowed.
	RateMB   int `yaml:"rate_mb"`
	Requests int `yaml:"requests"`
	// Patterns are globs below each root, in which {job} stands for the job id.
	Patterns []string `yaml:"patterns"`
	// Evidence are globs below each root of what lies beside the logs, whatever it is called.
	Evidence []string `yaml:"evidence"`
	// Quiet: logs that were written to more recently belong to a job that still runs. 0 = never ask.
	Quiet Duration `yaml:"quiet"`
	// Late is how long after a first report files are looked for that come late or grow; 0 = never, and 15m where nothing is said.
	Late *Duration `yaml:"late"`
}

// Output says how reports look.
type Output struct {
	Format string `yaml:"format"` // terminal, markdown, json, html
	Color  string `yaml:"color"`  // auto, always, never
	// Dir is where the console keeps the HTML file of each report; "" = nowhere.
	Dir string `yaml:"dir"`
}

// Limits bound what one investigation may take.
type Limits struct {
	// Workers is how many files are read at a time; 0 = one per core. It never changes a report.
	Workers int `yaml:"workers"`
	// Analyses is how many investigations are worked on at a time; the others wait in line.
	Analyses int `yaml:"analyses"`
	// UploadMB bounds one uploaded file.
	UploadMB int `yaml:"upload_mb"`
	// UnpackMB and UnpackFiles bound what the archives of one reading may unpack to.
	UnpackMB    int `yaml:"unpack_mb"`
	UnpackFiles int `yaml:"unpack_files"`
	// JobMB and JobFiles bound what is brought of one job from other machines, SpoolMB what of all jobs is kept here.
	JobMB    int `yaml:"job_mb"`
	JobFiles int `yaml:"job_files"`
	SpoolMB  int `yaml:"spool_mb"`
}

// Logging is the program's own log, on standard error.
type Logging struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // text, json
}

// The values that choices may take.
var (
	Formats    = []string{"terminal", "markdown", "json", "html"}
	Colors     = []string{"auto", "always", "never"}
	LogLevels  = []string{"debug", "info", "warn", "error"}
	LogFormats = []string{"text", "json"}
)

// maxWorkers is a guard against a typing error; more readers than this only compete for the disk.
const maxWorkers = 1024

// defaultPatterns are where the logs of a job usually are below a root.
var defaultPatterns = []string{"{job}", "*{job}*"}

// Default is the configuration without a file.
func Default() Config {
	return Config{
		Output:    Output{Format: "terminal", Color: "auto"},
		Limits:    Limits{Analyses: 2, UploadMB: 1024, UnpackMB: 64 << 10, UnpackFiles: 20_000, JobMB: 16 << 10, JobFiles: 20_000, SpoolMB: 64 << 10},
		Logging:   Logging{Level: "warn", Format: "text"},
		Slack:     Slack{Mode: "socket", Sockets: 2, Command: "/diagnose", Recycle: Duration(15 * time.Minute)},
		Questions: Questions{RemindAfter: Duration(30 * time.Minute), ExpireAfter: Duration(24 * time.Hour)},
		Data:      Data{Keep: Duration(90 * 24 * time.Hour)},
		Web:       Web{Expires: Duration(30 * 24 * time.Hour)},
		Archive:   Archive{Region: "us-east-1"},
	}
}

// defaultLate covers the caches of network file systems and what ranks write that die last.
const defaultLate = Duration(15 * time.Minute)

// fill gives the keys that must not be empty their defaults again: the YAML reader zeroes a section whose body is missing.
func (c *Config) fill() {
	def := Default()
	orElse(&c.Output.Format, def.Output.Format)
	orElse(&c.Output.Color, def.Output.Color)
	orElse(&c.Logging.Level, def.Logging.Level)
	orElse(&c.Logging.Format, def.Logging.Format)
	orElse(&c.Limits.Analyses, def.Limits.Analyses)
	orElse(&c.Limits.UploadMB, def.Limits.UploadMB)
	orElse(&c.Limits.UnpackMB, def.Limits.UnpackMB)
	orElse(&c.Limits.UnpackFiles, def.Limits.UnpackFiles)
	orElse(&c.Limits.JobMB, def.Limits.JobMB)
	orElse(&c.Limits.JobFiles, def.Limits.JobFiles)
	orElse(&c.Limits.SpoolMB, def.Limits.SpoolMB)
	orElse(&c.Slack.Mode, def.Slack.Mode)
	orElse(&c.Slack.Sockets, def.Slack.Sockets)
	orElse(&c.Slack.Command, def.Slack.Command)
	orElse(&c.Slack.Recycle, def.Slack.Recycle)
	orElse(&c.Questions.RemindAfter, def.Questions.RemindAfter)
	orElse(&c.Questions.ExpireAfter, def.Questions.ExpireAfter)
	orElse(&c.Data.Keep, def.Data.Keep)
	orElse(&c.Archive.Region, def.Archive.Region)
	orElse(&c.Web.Expires, def.Web.Expires)
	for i := range c.Clusters {
		if c.Clusters[i].Logs.Patterns == nil {
			c.Clusters[i].Logs.Patterns = slices.Clone(defaultPatterns)
		}
		if c.Clusters[i].Logs.Late == nil {
			late := defaultLate
			c.Clusters[i].Logs.Late = &late
		}
		orElse(&c.Clusters[i].Push.Keep, Duration(7*24*time.Hour))
		for j := range c.Clusters[i].Watch {
			c.Clusters[i].Watch[j].fill()
		}
	}
}

func orElse[T comparable](value *T, fallback T) {
	var none T
	if *value == none {
		*value = fallback
	}
}

// FieldError is a bad value of one key.
type FieldError struct {
	Path string // dotted, "logs.roots[1]"
	Msg  string
}

func (e *FieldError) Error() string { return e.Path + ": " + e.Msg }

// Validate checks every value and returns all errors, joined; each is a *FieldError.
func (c *Config) Validate() error {
	var errs []error
	bad := func(path, format string, args ...any) {
		errs = append(errs, &FieldError{Path: path, Msg: fmt.Sprintf(format, args...)})
	}
	choice := func(path, value string, choices []string) {
		if !slices.Contains(choices, value) {
			bad(path, "%q is not one of %s%s", value, strings.Join(choices, ", "), strict.DidYouMean(value, choices))
		}
	}
	for i, file := range c.Knowledge {
		if !filepath.IsAbs(file) {
			bad(fmt.Sprintf("knowledge[%d]", i), "%q is not an absolute path", file)
		}
	}
	c.validateClusters(bad)
	c.validateChat(bad, choice)
	c.validateStores(bad)
	c.validateStorage(bad)
	c.validateWatch(bad)
	c.validatePush(bad)
	c.validateChecklists(bad)
	c.validateBaselines(bad)
	c.validateCosts(bad)
	choice("output.format", c.Output.Format, Formats)
	choice("output.color", c.Output.Color, Colors)
	if c.Limits.Workers < 0 || c.Limits.Workers > maxWorkers {
		bad("limits.workers", "%d is not between 0 and %d", c.Limits.Workers, maxWorkers)
	}
	if c.Limits.Analyses < 1 || c.Limits.Analyses > maxWorkers {
		bad("limits.analyses", "%d is not between 1 and %d", c.Limits.Analyses, maxWorkers)
	}
	if c.Limits.UploadMB < 1 {
		bad("limits.upload_mb", "%d is not a positive number of megabytes", c.Limits.UploadMB)
	}
	if c.Limits.UnpackMB < 1 {
		bad("limits.unpack_mb", "%d is not a positive number of megabytes", c.Limits.UnpackMB)
	}
	if c.Limits.UnpackFiles < 1 {
		bad("limits.unpack_files", "%d is not a positive number of files", c.Limits.UnpackFiles)
	}
	if c.Limits.JobFiles < 1 {
		bad("limits.job_files", "%d is not a positive number of files", c.Limits.JobFiles)
	}
	if c.Limits.JobMB < 1 {
		bad("limits.job_mb", "%d is not a positive number of megabytes", c.Limits.JobMB)
	}
	if c.Limits.SpoolMB < c.Limits.JobMB {
		bad("limits.spool_mb", "%d is less than the limit for one job (limits.job_mb, %d)", c.Limits.SpoolMB, c.Limits.JobMB)
	}
	choice("logging.level", c.Logging.Level, LogLevels)
	choice("logging.format", c.Logging.Format, LogFormats)
	return errors.Join(errs...)
}

func (c *Config) validateClusters(bad func(path, format string, args ...any)) {
	names := map[string]bool{}
	for i, cl := range c.Clusters {
		at := fmt.Sprintf("clusters[%d]", i)
		switch {
		case cl.Name == "" && len(c.Clusters) > 1:
			bad(at+".name", "with several clusters, each needs a name that people can type, as in /diagnose west:4242")
		case names[cl.Name]:
			bad(at+".name", "%q is the name of two clusters", cl.Name)
		case strings.ContainsAny(cl.Name, ": \t/`<>&*"):
			bad(at+".name", "%q: people type the name before a colon, so use only letters, digits, - and _", cl.Name)
		}
		names[cl.Name] = true
		if _, err := ParseZone(cl.Zone); cl.Zone != "" && err != nil {
			bad(at+".zone", "%q: %v", cl.Zone, err)
		}
		if strings.ContainsAny(cl.LoginHost, " \t'\"`$;&|<>\\\n") || strings.HasPrefix(cl.LoginHost, "-") {
			bad(at+".login_host", "%q is not a [user@]host", cl.LoginHost)
		}
		cl.validateLogs(at, bad)
		cl.validateSlurm(at, bad)
		cl.validateSubmit(at, bad)
	}
}

// SlogLevel is the level for log/slog.
func (l Logging) SlogLevel() slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		return slog.LevelWarn
	}
	return level
}
