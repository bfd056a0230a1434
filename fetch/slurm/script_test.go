package slurm

import (
	"reflect"
	"strings"
	"testing"

	"faultline/fetch/slurm/pattern"
)

func TestScripts(t *testing.T) {
	facts := map[string]string{"SLURM_JOB_ID": "%j", "SLURM_JOB_NAME": "%x", "USER": "%u", "SLURM_SUBMIT_DIR": "/w", "SLURM_RESTART_COUNT": "%r"}
	for name, c := range map[string]struct {
		script string
		want   Outputs
	}{
		"the usual idiom": {"#!/bin/bash\n#SBATCH -N 4 -o slurm-%j.out\n#SBATCH --error=err/%x_%j.err  # where errors go\n#SBATCH -D /data\nset -e\n#SBATCH -o late\n" +
			"srun --output=slurm-%j-%n.out --error=error-%j-%n.out \"$PROGRAMS/train.sh\" -o other\n",
			Outputs{Out: "slurm-%j.out", Err: "err/%x_%j.err", Dir: "/data", Steps: []string{"slurm-%j-%n.out", "error-%j-%n.out"}}},
		"lines that go on, words that are quoted, variables": {"#!/bin/sh\n#SBATCH --output 'my logs/%j'\nDIR=$SLURM_SUBMIT_DIR/logs\nDATETIME=`date +'date_%y-%m-%d'`\n" +
			"srun -l -N 4 --ntasks-per-node=8 \\\n  --output=\"$DIR/%x_%j_$DATETIME.log\" \\\n  -e ${DIR}/e.$SLURM_JOB_ID sh -c \"$run\"\n",
			Outputs{Out: "my logs/%j", Steps: []string{"/w/logs/%x_%j_*.log", "/w/logs/e.%j"}}},
		"NeMo-Run": {"#!/bin/bash\n#SBATCH --open-mode=append\n#SBATCH --output=/f/sbatch_%x_%j.out\nsrun --output /f/log-acc.task_%j_${SLURM_RESTART_COUNT:-0}.out --container-image img --wait=60 --kill-on-bad-exit=1 bash x.sh\n",
			Outputs{Out: "/f/sbatch_%x_%j.out", Append: true, Steps: []string{"/f/log-acc.task_%j_%r.out"}}},
		"what srun's argument is not": {"#!/bin/bash\nsrun --output=none -e 0 ./a\necho srun is not run -o x\n", Outputs{}},
		"srun behind another program": {"#!/bin/bash\ntime srun -u -o%j-%t.log python x.py > all.log 2>&1 & wait\nif true; then /usr/bin/srun -o b-%j hostname; fi\n", Outputs{Steps: []string{"%j-%t.log", "b-%j"}}},
		"computed names":              {"#!/bin/bash\nA=$(date +%s)\nsrun -o $A/$(hostname)/$1-%n.log ./a\n", Outputs{Steps: []string{"*/*/*-%n.log"}}},
		"a name that depends on a branch": {"#!/bin/bash\nid=%j\nif [ -n \"$SLURM_ARRAY_TASK_ID\" ]; then\n  id=%A_%a\nfi\nsrun -o o-$id-%n ./a\n",
			Outputs{Steps: []string{"o-%A_%a-%n", "o-%j-%n"}}},
		"options from an array":            {"#!/bin/bash\nsrun \"${opts[@]}\" --output=o-%j-%n.out \"$P/train.sh\" -o x\n", Outputs{Perhaps: []string{"o-%j-%n.out"}}},
		"a program that is not known":      {"#!/bin/bash\nsrun -n 4 $CMD -o o-%j.txt\n", Outputs{Perhaps: []string{"o-%j.txt"}}},
		"a comment":                        {"#!/bin/bash\n# srun -o no ./a\n", Outputs{}},
		"an option whose value is a word":  {"#!/bin/bash\nsrun -n 8 -c 4 --mpi pmix -o o-%n ./a -o b\n", Outputs{Steps: []string{"o-%n"}}},
		"a script that is cut in a string": {"#!/bin/bash\nsrun -o \"a", Outputs{Steps: []string{"a"}}},
	} {
		got := ParseScript(c.script, facts)
		for i := range got.Steps {
			got.Steps[i] = strings.ReplaceAll(got.Steps[i], pattern.Any, "*")
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, c.want)
		}
	}
	if got := ParseSubmit("sbatch --parsable -J x -o logs/sbatch_%x_%j.out -e logs/%j.err --open-mode=a job.sbatch -o no"); got.Out != "logs/sbatch_%x_%j.out" || got.Err != "logs/%j.err" || !got.Append {
		t.Errorf("%+v", got)
	}
	if got := ParseSubmit("srun -N2 -o %j-%n.out ./train"); len(got.Steps) != 1 || got.Out != "" {
		t.Errorf("%+v", got)
	}
}

func FuzzScript(f *testing.F) {
	f.Add("#!/bin/bash\n#SBATCH -o x\nA=$(b `c`)\nsrun -o \"$A/${B:-c}\" x\n")
	f.Add("srun \\\n-o '")
	f.Fuzz(func(t *testing.T, script string) {
		out := ParseScript(script, map[string]string{"USER": "%u"})
		ParseSubmit(script)
		for _, s := range append(out.Steps, out.Out, out.Err) {
			if p, err := pattern.Parse(s); err == nil {
				p.Glob(pattern.Step, pattern.Unknown())
			}
		}
	})
}
