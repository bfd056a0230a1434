package script

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// logVariables are variables that name files which libraries write, and what stands behind the value in the file's name.
var logVariables = map[string]string{
	"NCCL_DEBUG_FILE":                 "",
	"TORCH_NCCL_DEBUG_INFO_TEMP_FILE": string(anything),
	"TORCH_FR_DUMP_TEMP_FILE":         string(anything),
	"TORCHELASTIC_ERROR_FILE":         "",
}

// folderVariable matches variables of the environment that name a directory of logs: SPARK_LOG_DIR, OPENAI_LOGDIR.
var folderVariable = regexp.MustCompile(`(?:^|_)LOGS?_?(?:DIR|DIRECTORY|PATH|FOLDER|ROOT)$`)

// variable notes what a variable says of files.
func (in *reader) variable(s *state, name string, exported bool) {
	behind, file := logVariables[name]
	if !exported || !file && !folderVariable.MatchString(name) {
		return
	}
	if !s.step {
		s = s.clone()
		s.step, s.maybe = true, true
	}
	for _, alt := range s.vars[name].alts {
		if len(alt) == 1 && alt[0] != "" {
			v := alt[0]
			if name == "NCCL_DEBUG_FILE" { // NCCL expands %h and %p itself
				v = strings.NewReplacer("%h", symbol('N'), "%p", string(anything)).Replace(v)
			}
			maybe := s.clone()
			maybe.maybe = true
			in.emit(maybe, v+behind, Written, !file && !LogName(v), name)
		}
	}
}

// treeOption matches the names of options that name a directory of logs: of torchrun, DeepSpeed, Open MPI, accelerate and of what is
// trained, with _ for - and without what stands before a point ("paths.output_dir").
var treeOption = regexp.MustCompile(`^(?:\w+_)?(?:logs?|logging|out|output|stdout|stderr|save|run|work|exp|experiment|results?|dump)_?(?:root_|base_)?(?:dir|directory|path|folder|root)$` +
	`|^(?:default_root_dir|explicit_log_dir|output_filename|redirect_dir|logs)$`)

// whole are options whose name matters before the point.
var whole = set("hydra.run.dir hydra.sweep.dir")

var fileOption = regexp.MustCompile(`^log_?file(?:name)?$|^hydra\.job_logging\.handlers\.file\.filename$`)

// arguments reads a program's own options.
func (in *reader) arguments(s *state, name string, argv []string) {
	if quiet[name] {
		return
	}
	maybe := s.clone()
	maybe.maybe = true // the program may do anything with them
	for i, w := range argv {
		if strings.HasPrefix(w, "-") && strings.Contains(w, " ") { // options of another program, in one argument
			in.arguments(s, name, strings.Fields(w))
			continue
		}
		opt, value, has := strings.Cut(strings.TrimLeft(w, "-+"), "=")
		option := strings.HasPrefix(w, "-") || strings.ToUpper(w) == w // OUTPUT_DIR of Detectron
		if !has && i+1 < len(argv) && option && !strings.HasPrefix(argv[i+1], "-") {
			value = argv[i+1]
		}
		by := in.plain(path.Base(name) + " " + strings.TrimSuffix(w, "="+value))
		file, tree := logOption(strings.ReplaceAll(strings.ToLower(opt), "-", "_"), value)
		file = file || !tree && strings.HasPrefix(w, "-") && path.Ext(value) == ".log" && !strings.ContainsAny(value, " =") // of whatever name: what is read seldom ends so
		switch {
		case !file && !tree || value == "none":
		case !in.vague(s, value):
			in.emit(maybe, value, Written, tree, by)
		case open(value):
			in.unknown(by + " is " + in.plain(value) + ", which comes from outside the script")
		}
	}
}

// logOption says that an option names a file of logs, or a directory of them.
func logOption(opt, value string) (file, tree bool) {
	last := opt[strings.LastIndex(opt, ".")+1:]
	if fileOption.MatchString(opt) || fileOption.MatchString(last) {
		return true, false
	}
	place := treeOption.MatchString(last) || last == "log" && strings.Contains(value, "/")
	file = place && LogName(value)
	if data := last == "output_filename" && path.Ext(value) != "" && !file; data {
		return false, false
	}
	return file, !file && (place || whole[opt])
}

// vague says that a value names no place of its own: nothing of it is known, or it is where the script is anyhow.
func (in *reader) vague(s *state, value string) bool {
	return strings.Trim(strings.Map(unmarked, value), "./") == "" || slices.Contains([]string{s.dir, s.home, "/tmp"}, in.resolve(s, value))
}

// unmarked drops what stands for something that is not known.
func unmarked(r rune) rune {
	if isMark(r) && r < symbolBase || r == anything {
		return -1
	}
	return r
}
