package script

import (
	"path"
	"strings"
)

// logVariables are variables that name files which libraries write, and what stands behind the value in the file's name.
var logVariables = map[string]string{
	"NCCL_DEBUG_FILE":                 "",
	"TORCH_NCCL_DEBUG_INFO_TEMP_FILE": string(anything),
	"TORCH_FR_DUMP_TEMP_FILE":         string(anything),
	"TORCHELASTIC_ERROR_FILE":         "",
}

// variable notes what a variable says of files.
func (in *reader) variable(s *state, name string, exported bool) {
	behind, ok := logVariables[name]
	if !ok || !exported {
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
			in.emit(maybe, v+behind, Written, false, name)
		}
	}
}

// arguments that name a directory of logs, or a file; of torchrun, DeepSpeed, Open MPI, accelerate and of what is trained.
var (
	treeOptions = map[string]bool{
		"log-dir": true, "log_dir": true, "logdir": true, "enable_each_rank_log": true, "output-filename": true, "output-directory": false, "redirect-dir": true,
		"hydra.run.dir": true, "hydra.sweep.dir": true, "exp_manager.exp_dir": true, "exp_manager.explicit_log_dir": true, "trainer.default_root_dir": true, "default_root_dir": true,
		"log-path": true, "log_path": true, "logging_dir": true, "logging-dir": true, "logs_dir": true, "exp_dir": true, "run_dir": true, "job.dump_folder": true, "dump_folder": true,
		"output_dir": true, "output-dir": true, "results_dir": true, "save_dir": true, "outputdir": true, "out_dir": true,
	}
	fileOptions = map[string]bool{
		"log-file": true, "log_file": true, "logfile": true, "log-filename": true, "log_filename": true, "hydra.job_logging.handlers.file.filename": true,
	}
)

// arguments reads a program's own options.
func (in *reader) arguments(s *state, name string, argv []string) {
	if quiet[name] {
		return
	}
	maybe := s.clone()
	maybe.maybe = true // the program may do anything with them
	for i, w := range argv {
		opt, value, has := strings.Cut(strings.TrimLeft(w, "-+"), "=")
		if !has && i+1 < len(argv) && strings.HasPrefix(w, "-") && !strings.HasPrefix(argv[i+1], "-") {
			value = argv[i+1]
		}
		if value == "" || value == "none" {
			continue
		}
		by := in.plain(path.Base(name) + " " + strings.TrimSuffix(w, "="+value))
		switch {
		case treeOptions[opt]:
			in.emit(maybe, value, Written, true, by)
		case fileOptions[opt]:
			in.emit(maybe, value, Written, false, by)
		}
	}
}
