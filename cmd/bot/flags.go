package main

import (
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"faultline/config"
	"faultline/messages/redact"
)

// common are the flags that several commands share.
type common struct {
	configFile          string
	logLevel, logFormat string
	color               string
	workers             int
	knowledge           []string
}

func (c *common) declare(fs *pflag.FlagSet) {
	fs.StringVar(&c.configFile, "config", "", "read the configuration from `FILE`; flags override it\ne.g. --config /etc/faultline.yaml")
	fs.StringVar(&c.logLevel, "log-level", "", "log to standard error at this `LEVEL` and above: debug, info, warn or error\ne.g. --log-level debug")
	fs.StringVar(&c.logFormat, "log-format", "", "`FORMAT` of that log: text or json\ne.g. --log-format json")
}

func (c *common) declareKnowledge(fs *pflag.FlagSet) {
	fs.StringArrayVar(&c.knowledge, "knowledge", nil, "also use site knowledge in `FILE`; may be repeated (docs/site-knowledge.md)\ne.g. --knowledge site.yaml")
}

func (c *common) declareLook(fs *pflag.FlagSet) {
	fs.StringVar(&c.color, "color", "", "`WHEN` to use color: auto (only on a terminal), always or never\ne.g. --color always")
	fs.IntVar(&c.workers, "workers", 0, "read `N` files at a time; 0 means one per CPU. Doesn't affect the report\ne.g. --workers 4")
}

// load merges the configuration file and the flags, and makes the logger.
func (c *common) load(stderr io.Writer) (config.Config, *slog.Logger, error) {
	cfg := config.Default()
	if c.configFile != "" {
		var err error
		if cfg, err = config.Load(c.configFile); err != nil {
			return cfg, nil, usage("%v", err)
		}
	}
	for _, set := range []struct {
		flag, value string
		to          *string
		choices     []string
	}{
		{"log-level", c.logLevel, &cfg.Logging.Level, config.LogLevels},
		{"log-format", c.logFormat, &cfg.Logging.Format, config.LogFormats},
		{"color", c.color, &cfg.Output.Color, config.Colors},
	} {
		if set.value == "" {
			continue
		}
		if !slices.Contains(set.choices, set.value) {
			return cfg, nil, usage("--%s %s: choose one of %s", set.flag, set.value, strings.Join(set.choices, ", "))
		}
		*set.to = set.value
	}
	if c.workers != 0 {
		cfg.Limits.Workers = c.workers
	}
	if err := cfg.Validate(); err != nil {
		return cfg, nil, usage("%v", err)
	}
	cfg.Knowledge = append(cfg.Knowledge, c.knowledge...)
	return cfg, logger(stderr, cfg.Logging.SlogLevel(), cfg.Logging.Format), nil
}

// logger writes the program's own log, without secrets: errors quote what servers and files say.
func logger(w io.Writer, level slog.Level, format string) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: maskAttr}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

func maskAttr(_ []string, a slog.Attr) slog.Attr {
	if k := a.Value.Kind(); k != slog.KindString && k != slog.KindAny {
		return a
	}
	// The name goes with the value: it may be what says that it is a secret.
	text := a.Value.String()
	if _, masked, _ := strings.Cut(redact.String(a.Key+"=\n"+text), "\n"); a.Value.Kind() == slog.KindString || masked != text {
		a.Value = slog.StringValue(masked)
	}
	return a
}
