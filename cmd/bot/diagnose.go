package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"faultline/analysis"
	"faultline/analysis/hostlist"
	"faultline/analysis/resolve"
	"faultline/config"
	"faultline/fetch"
	"faultline/fetch/slurm"
	"faultline/fetch/spool"
	"faultline/incident"
	"faultline/workflow"
)

func newDiagnoseCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diagnose [flags] [PATH...]",
		Short: "diagnose a failed job from its logs",
		Long: `
Reads one job's logs and reports what broke, where, the proof, and what to do now. Prints the first screen of the report; --full prints
all of it. PATH is a directory, a log file (also .gz or .zst), an archive (tar, tar.gz, tar.zst, zip), or - for standard input.
Unreadable files are listed; the rest is still analyzed.
Without a PATH, the logs for --job are fetched from the location configured for its cluster (docs/slurm.md).

Examples:
  bot diagnose logs-4242/
  bot diagnose --full logs-4242/
  bot diagnose --world-size 128 --nodes 'node[01-16]' logs-4242/
  bot diagnose --format html --out report.html logs-4242.tar.gz
  bot diagnose --job 4242 /shared/logs --format json
  bot diagnose --config faultline.yaml --job 4242 --cluster west
  bot diagnose --ais-logs ais-logs/ logs-4242/
  bot diagnose --evidence nccl_trace/ logs-4242/
  bot diagnose --evidence all_reduce.json --baseline all_reduce-good.json
  bot diagnose --format history logs-4242/ >> history.jsonl
  bot diagnose --history history.jsonl logs-4243/

Exit code: 0 = a confirmed or probable cause, or no failure; 3 = inconclusive; 2 = usage error, or several jobs without --job;
1 = no readable input.`,
	}
	fs := cmd.Flags()
	var d diagnosis
	d.common.declare(fs)
	d.common.declareLook(fs)
	d.common.declareKnowledge(fs)
	fs.StringVar(&d.job, "job", "", "diagnose the job with this `ID` if the files hold several\ne.g. --job 4242")
	fs.StringVar(&d.nodes, "nodes", "", "the job's nodes in SLURM format (`HOSTLIST`), so the report can list missing ones\ne.g. --nodes 'node[01-16]'")
	fs.StringVar(&d.jobZone, "job-zone", "", "time `ZONE` of the job's machines, if its logs don't show it; used to align them with storage logs\ne.g. --job-zone America/Los_Angeles")
	fs.IntVar(&d.worldSize, "world-size", 0, "the job's number of ranks, `N`, so the report can list missing ones\ne.g. --world-size 128")
	fs.StringVar(&d.aisLogs, "ais-logs", "", "also read AIStore daemon logs in `PATH`: a directory, the output of \"ais log get cluster DIR\", or an archive\ne.g. --ais-logs ais-logs/")
	fs.StringVar(&d.aisEndpoint, "ais-endpoint", "", "fetch those logs from the cluster whose proxy is at `URL`; env: $AIS_ENDPOINT. Uses the ais command's token and certificates (docs/aistore.md): AIS_AUTHN_TOKEN or AIS_AUTHN_TOKEN_FILE, AIS_CLIENT_CA, …\ne.g. --ais-endpoint https://ais.example.org:51080")
	fs.StringArrayVar(&d.evidence, "evidence", nil, "also use other evidence in `PATH`: a directory, file or archive; may be repeated. Flight-recorder dumps, stacks, NCCL logs, kernel logs, traces and more (docs/evidence.md), recognized by content\ne.g. --evidence /tmp/nccl_trace/")
	fs.StringVar(&d.baseline, "baseline", "", "compare nccl-tests runs with an earlier good one in `FILE` (text, or JSON from -J), or with a bus bandwidth in GB/s\ne.g. --baseline all_reduce-good.txt, --baseline 380")
	fs.StringVar(&d.history, "history", "", "compare with earlier runs: a history `FILE` (docs/history.md), or the logs of the last good run\ne.g. --history history.jsonl, --history logs-4242/")
	fs.StringVar(&d.jobName, "job-name", "", "the job's `NAME`, if its logs don't show it: earlier runs with the same name count as the same job\ne.g. --job-name nightly-70b")
	fs.StringVar(&d.cluster, "cluster", "", "the job's cluster, `NAME`, if the history or configuration has several\ne.g. --cluster west")
	fs.StringVar(&d.user, "user", "", "`KEY` of the user who submitted the job, as in the history; never shown\ne.g. --user u-7f3a")
	fs.StringVar(&d.format, "format", "", "terminal, markdown, json or html (`FORMAT`; default: by the extension of --out, else terminal); history: one line to append to a history\ne.g. --format json")
	fs.StringVar(&d.out, "out", "", "write the report to `FILE` and print only its first screen\ne.g. --out report.html")
	fs.StringVar(&d.png, "png", "", "also draw the rank map to `FILE`\ne.g. --png ranks.png")
	fs.BoolVar(&d.brief, "brief", false, "print a one-line summary to forward: problem, cause, impact, next step\ne.g. --brief")
	fs.BoolVar(&d.full, "full", false, "print the whole report, not just the first screen; on a terminal through $PAGER\ne.g. --full")
	fs.BoolVar(&d.verbose, "verbose", false, "like --full, with every quotation, event and group, and log each file read\ne.g. --verbose")
	fs.BoolVar(&d.trail, "trail", false, "also print to standard error how the meaning of individual lines was revised, and why\ne.g. --trail")
	complete(cmd, "format", append(slices.Clone(config.Formats), formatHistory))
	cmd.RunE = e.does(func(ctx context.Context, e env, paths []string) (int, error) {
		if err := d.jobGiven(fs, len(paths) == 0); err != nil {
			return exitUsage, err
		}
		return d.run(ctx, e, paths)
	})
	return cmd
}

// maxTrail bounds a line of the trail: names of files may be long.
const maxTrail = 1000

// diagnosis is one run of the command.
type diagnosis struct {
	common
	job, nodes, format, out, png string
	history, cluster, user       string
	jobName                      string
	folder                       string // where all logs of a job that was looked up lie on this machine
	aisLogs, aisEndpoint         string
	evidence                     []string
	baseline                     string
	worldSize                    int
	jobZone                      string
	denied                       []string // files that were named or found, and may not be read
	verbose, trail, brief, full  bool
}

// jobGiven checks the job before anything is looked for by it. Of the jobs in files that were named, the files say how they are called.
func (d *diagnosis) jobGiven(fs *pflag.FlagSet, looked bool) (err error) {
	if fs.Changed("job") && (looked || d.job == "") {
		d.job, err = jobID(d.job)
	}
	return err
}

// jobID is the id of a job as a cluster is asked for it.
func jobID(typed string) (string, error) {
	id, err := slurm.ParseID(typed)
	if err != nil {
		return "", usage("--job %v", err)
	}
	return id.String(), nil
}

func (d *diagnosis) run(ctx context.Context, e env, paths []string) (int, error) {
	if d.verbose && d.logLevel == "" {
		d.logLevel = "info"
	}
	cfg, log, err := d.load(e.err)
	if err != nil {
		return exitUsage, err
	}
	in, err := d.input(cfg, paths)
	if err != nil {
		return exitUsage, err
	}
	dir, remove, err := scratch()
	if err != nil {
		return exitUnreadable, err
	}
	defer remove()
	set, err := d.bring(ctx, e, cfg, paths, dir, &in)
	if err != nil {
		return exitUnreadable, err
	}
	in.Sources = set.Sources
	storage, err := d.storageLogs(ctx, e, cfg, dir)
	if err != nil {
		return exitUnreadable, err
	}
	in.Storage = storage.Sources
	set.Warnings = append(set.Warnings, storage.Warnings...)
	if len(d.evidence) > 0 {
		handed, err := fetch.Evidence(ctx, d.evidence, filepath.Join(dir, fetch.EvidenceDir), localOptions(cfg, ""))
		if err != nil {
			return exitUnreadable, fmt.Errorf("the evidence: %w", err)
		}
		in.Evidence = handed.Sources
		set.Warnings = append(set.Warnings, handed.Warnings...)
	}
	if in.Baseline, err = d.baselineRuns(ctx, cfg, dir, &set, &in); err != nil {
		return exitUnreadable, err
	}
	if in.History, err = earlierRuns(ctx, cfg, d.history, dir); err != nil {
		return exitUsage, err
	}
	for _, w := range set.Warnings {
		log.Info("left out", "what", w)
	}
	r, err := d.judged(ctx, e, log, in, len(paths) == 0, set.Warnings)
	if err != nil {
		return failure(err)
	}
	if err := d.show(e, cfg, r, filesOf(slices.Concat(set.Sources, in.History, in.Storage, in.Evidence, in.Baseline))); err != nil {
		return exitUnreadable, err
	}
	if d.trail {
		for _, line := range r.Trail {
			fmt.Fprintln(e.err, printable(line, maxTrail))
		}
	}
	if r.Verdict.Status == incident.Inconclusive {
		return exitInconclusive, nil
	}
	return exitOK, nil
}

// baselineRuns takes the file of the baseline, if it is one and no number.
func (d *diagnosis) baselineRuns(ctx context.Context, cfg config.Config, dir string, set *workflow.Collection, in *analysis.Input) ([]incident.Source, error) {
	if d.baseline == "" || in.Bandwidth > 0 {
		return nil, nil
	}
	got, err := fetch.Baseline(ctx, []string{d.baseline}, filepath.Join(dir, fetch.BaselineDir), localOptions(cfg, ""))
	if err != nil {
		return nil, fmt.Errorf("the baseline: %w", err)
	}
	set.Warnings = append(set.Warnings, got.Warnings...)
	return got.Sources, nil
}

// bandwidth is a number of GB/s: "380", "380 GB/s", "381.5GB/s"; false for anything else, as the name of a file.
func bandwidth(typed string) (float64, bool) {
	number := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(typed), "GB/s"))
	v, err := strconv.ParseFloat(number, 64)
	return v, err == nil && v == v && v-v == 0
}

// bring takes the logs that were named, or those of the job from where its cluster keeps them.
func (d *diagnosis) bring(ctx context.Context, e env, cfg config.Config, paths []string, dir string, in *analysis.Input) (workflow.Collection, error) {
	switch {
	case len(paths) == 0 && d.job == "": // evidence alone
		return workflow.Collection{}, nil
	case len(paths) > 0:
		return d.named(ctx, e, cfg, paths, dir, in)
	}
	if d.cluster != "" && !knows(cfg, d.cluster) {
		var names []string
		for _, c := range cfg.Clusters {
			names = append(names, c.Name)
		}
		return workflow.Collection{}, usage("--cluster %s: no such cluster is configured; choose from %s", d.cluster, strings.Join(names, ", "))
	}
	logs, err := sources(ctx, cfg, dir, takenIn(dir), spool.Options{})
	if err != nil {
		return workflow.Collection{}, err
	}
	defer logs.Close()
	found, err := logs.Locate(ctx, d.cluster, d.job)
	if err != nil {
		return workflow.Collection{}, err
	}
	for _, n := range found.Notes {
		fmt.Fprintln(e.err, n)
	}
	places := slices.Concat(found.Places, found.Base)
	if len(places) == 0 {
		return workflow.Collection{}, fmt.Errorf("no logs for job %s found in %s: give their directory, or run bot doctor --job '%s' for details", d.job, strings.Join(found.Searched, ", "), d.job)
	}
	got, err := logs.Collect(ctx, places)
	if err != nil {
		return got, err
	}
	if len(in.Nodes) == 0 {
		in.Nodes, in.NodesFrom = got.Nodes, got.NodesFrom
	}
	in.Gaps, in.Covered = got.Gaps, got.Covered
	d.folder = folderOf(got.Sources, dir)
	return got, nil
}

// folderOf is where all logs of a job lie on this machine, "" where they lie in several folders or were brought from elsewhere.
func folderOf(sources []incident.Source, brought string) (dir string) {
	for _, s := range sources {
		at := filepath.Dir(s.Path)
		switch {
		case s.Name == slurm.AccountingName || s.Name == slurm.NodesName:
		case dir != "" && at != dir || strings.HasPrefix(at, brought):
			return ""
		default:
			dir = at
		}
	}
	return dir
}

// named takes logs that were named, beside what the cluster says of their job where it is configured and knows it.
func (d *diagnosis) named(ctx context.Context, e env, cfg config.Config, paths []string, dir string, in *analysis.Input) (workflow.Collection, error) {
	set, err := fetch.Local(ctx, typed(paths), localOptions(cfg, dir))
	if err != nil {
		return workflow.Collection{}, err
	}
	for _, p := range set.Unreadable {
		if p.Kind == fetch.Unreadable {
			d.denied = append(d.denied, filepath.Base(p.Name))
		}
	}
	got := workflow.Collection{Sources: set.Sources, Warnings: set.Warnings}
	if asked := slices.ContainsFunc(cfg.Clusters, func(c config.Cluster) bool { return c.Slurm.Asked() }); !asked || d.job == "" {
		return got, nil
	}
	logs, err := sources(ctx, cfg, dir, takenIn(dir), spool.Options{})
	if err != nil {
		return got, err
	}
	defer logs.Close()
	found, err := logs.Facts(ctx, d.cluster, d.job)
	for _, n := range found.Notes {
		fmt.Fprintln(e.err, n)
	}
	if err != nil { // the logs are there all the same
		got.Warnings = append(got.Warnings, "The cluster was not queried about job "+d.job+": "+err.Error()+".")
		return got, nil
	}
	if len(found.Base) == 0 {
		return got, nil
	}
	facts, err := logs.Collect(ctx, found.Base)
	if err != nil {
		return got, err
	}
	for _, s := range facts.Sources {
		if slices.ContainsFunc(got.Sources, func(o incident.Source) bool { return o.Name == s.Name }) {
			s.Name = "cluster/" + s.Name
		}
		got.Sources = append(got.Sources, s)
	}
	got.Warnings = append(got.Warnings, facts.Warnings...)
	if len(in.Nodes) == 0 {
		in.Nodes, in.NodesFrom = facts.Nodes, facts.NodesFrom
	}
	return got, nil
}

// input makes the engine's input of the flags.
func (d *diagnosis) input(cfg config.Config, paths []string) (analysis.Input, error) {
	in := analysis.Input{JobID: d.job, Cluster: d.cluster, User: d.user, JobName: d.jobName, WorldSize: d.worldSize, Workers: cfg.Limits.Workers, Version: version}
	if len(paths) == 0 && len(d.evidence) == 0 && d.job != "" && len(cfg.Clusters) == 0 {
		return in, usage("where are the logs for job %s? Give their path (bot diagnose --job %[1]s LOGS), or a configuration that lists the cluster (--config)", d.job)
	}
	if len(paths) == 0 && len(d.evidence) == 0 && d.job == "" {
		return in, usage("give the directory, files or archive with the logs: bot diagnose logs-4242/")
	}
	if d.worldSize < 0 {
		return in, usage("--world-size %d: must be at least 1", d.worldSize)
	}
	if d.worldSize > resolve.MaxWorld {
		return in, usage("--world-size %d: the limit is %d ranks", d.worldSize, resolve.MaxWorld)
	}
	if d.jobZone != "" {
		zone, err := config.ParseZone(d.jobZone)
		if err != nil {
			return in, usage("--job-zone %s: %v", d.jobZone, err)
		}
		in.JobZone = zone
	} else if zone := zones(cfg.Clusters)(d.cluster); zone != nil {
		in.JobZone = zone
	}
	if v, ok := bandwidth(d.baseline); ok {
		if in.Bandwidth = v; v <= 0 {
			return in, usage("--baseline %s: the bandwidth must be above 0 GB/s", d.baseline)
		}
	}
	if d.aisLogs != "" && d.aisEndpoint != "" {
		return in, usage("--ais-logs and --ais-endpoint: choose one")
	}
	if d.nodes != "" {
		nodes, err := hostlist.Expand(d.nodes)
		if err != nil {
			return in, usage("--nodes %s: %v; write it as SLURM does: 'node[01-16],node20'", d.nodes, err)
		}
		in.Nodes = nodes
	}
	if d.brief {
		if d.format != "" {
			return in, usage("--brief and --format can't be combined")
		}
		d.format = formatBrief
	}
	if d.format == "" {
		byExtension := map[string]string{".json": "json", ".html": "html", ".htm": "html", ".md": "markdown", ".txt": "terminal"}
		ext := strings.ToLower(filepath.Ext(d.out))
		switch d.format = byExtension[ext]; ext {
		case ".png":
			return in, usage("--out %s: a report can't be an image; use --png %[1]s for the rank map", d.out)
		case ".pdf", ".svg", ".docx":
			return in, usage("--out %s: reports are written as .html, .md, .json or .txt", d.out)
		}
	}
	if d.format == "" {
		d.format = cfg.Output.Format
	}
	if formats := append(slices.Clone(config.Formats), formatHistory, formatBrief); !slices.Contains(formats, d.format) {
		return in, usage("--format %s: choose one of %s", d.format, strings.Join(formats, ", "))
	}
	known, err := knownTo(cfg)
	if err != nil {
		return in, err
	}
	if in.Known = known.catalogue(); d.baseline == "" {
		in.Bandwidth = in.Known.Site().Bandwidth
	}
	in.Unhashed = d.format != "json" // the others do not show them
	return in, nil
}

func (d *diagnosis) diagnose(ctx context.Context, e env, log *slog.Logger, in analysis.Input) (*incident.Report, error) {
	bar := newProgress(e.err, "reading")
	defer bar.clear()
	defer newThrift().watch()()
	in.Progress = bar.update
	log.Info("reading", "files", len(in.Sources), "job", in.JobID, "nodes", len(in.Nodes), "world_size", in.WorldSize)
	r, err := analysis.Diagnose(ctx, in)
	if err != nil {
		return nil, err
	}
	log.Info("diagnosed", "status", r.Verdict.Status, "mechanism", r.Verdict.Mechanism, "lines", r.Coverage.Lines, "bytes", r.Coverage.Bytes)
	return r, nil
}

// judged is the report of what was brought, with what could not be. byNumber: it was brought by the job's number alone.
func (d *diagnosis) judged(ctx context.Context, e env, log *slog.Logger, in analysis.Input, byNumber bool, warnings []string) (*incident.Report, error) {
	if byNumber { // what was brought is of this job, whatever it is called there
		in.JobID = ""
	}
	r, err := d.diagnose(ctx, e, log, in)
	var several *analysis.MultipleJobsError
	if byNumber && errors.As(err, &several) {
		in.JobID = d.job
		r, err = d.diagnose(ctx, e, log, in)
	}
	if err != nil {
		return nil, err
	}
	r.Warnings = append(r.Warnings, warnings...)
	for _, name := range d.denied { // the first screen counts them, the warnings say why
		r.Coverage.Truncated = append(r.Coverage.Truncated, incident.CutFile{File: name, How: "unreadable"})
	}
	return r, nil
}

// failure turns an error of the engine into what a person can do, and the exit code.
func failure(err error) (int, error) {
	var several *analysis.MultipleJobsError
	if !errors.As(err, &several) {
		return exitUnreadable, err
	}
	var b strings.Builder
	if several.Asked != "" {
		fmt.Fprintf(&b, "job %s is not in these files; they contain:\n", several.Asked)
	} else {
		fmt.Fprintf(&b, "these files contain %d jobs; choose one with --job:\n", len(several.Jobs))
	}
	newest := several.Newest()
	if n := len(several.Jobs) - len(newest); n > 0 {
		fmt.Fprintf(&b, "  (%s with lower numbers not listed)\n", count(n, "job"))
	}
	for _, job := range newest {
		end := "end unknown"
		if job.End != "" {
			end = "ended " + job.End
		}
		nodes := "nodes unknown"
		if len(job.Nodes) > 0 {
			nodes = count(len(job.Nodes), "node") + ": " + hostlist.Compress(job.Nodes)
		}
		fmt.Fprintf(&b, "  --job %-12s %s, %s\n", job.ID, end, nodes)
	}
	return exitUsage, errors.New(b.String())
}
