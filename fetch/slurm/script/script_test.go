package script

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// facts are those of a job 4242 called train, in /w.
func facts(files map[string]string) Facts {
	return Facts{
		Vars:  map[string]string{"SLURM_JOB_ID": "%j", "SLURM_JOBID": "%j", "SLURM_JOB_NAME": "%x", "USER": "%u", "SLURM_SUBMIT_DIR": "/w", "SLURM_RESTART_COUNT": "%r"},
		Unset: []string{"SLURM_ARRAY_TASK_ID"}, Dir: "/w", Home: "/home/ann",
		Open: func(name string) (string, error) {
			if t, ok := files[name]; ok {
				return t, nil
			}
			return "", errors.New("no such file")
		},
	}
}

// shown are outputs as a test reads them: "?" before what may not be reached, "/**" behind a directory, ">" before what
// srun does not open.
func shown(r Reading) (list []string) {
	for _, o := range r.Outputs {
		s := strings.ReplaceAll(o.Pattern, "\x1a", "*")
		if o.Tree {
			s += "/**"
		}
		if o.Kind == Written {
			s = ">" + s
		}
		if o.Maybe {
			s = "?" + s
		}
		list = append(list, s)
	}
	return list
}

func TestLayouts(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		files  map[string]string
		args   []string
		want   []string
	}{
		"the usual idiom":                    {script: "srun --output=slurm-%j-%n.out --error=error-%j-%n.out \"$P/train.sh\" -o other\n", want: []string{"/w/slurm-%j-%n.out", "/w/error-%j-%n.out"}},
		"a variable before":                  {script: "VAR=x srun -o o-%t.log ./a\n", want: []string{"/w/o-%t.log"}},
		"options in a variable":              {script: "SRUN_ARGS=\"-l --output=logs/%j_%n.out\"\nsrun $SRUN_ARGS ./a\n", want: []string{"/w/logs/%j_%n.out"}},
		"options in a list":                  {script: "opts=(-l)\nopts+=(-o \"a b/%t.out\")\nsrun \"${opts[@]}\" ./a -o no\n", want: []string{"/w/a b/%t.out"}},
		"an assignment and a command":        {script: "A=b; srun -o $A-%j.log ./a\n", want: []string{"/w/b-%j.log"}},
		"a function that returns, in a loop": {script: "f() { if [ -n \"$1\" ]; then return 0; fi; return 1; }\nfor i in 1 2; do f $i; srun -o o-$i.log ./a; done\n", want: []string{"/w/o-1.log", "/w/o-2.log"}},
		"a loop that is left within a loop":  {script: "for i in 1 2; do for k in 1 2; do break; done; srun -o o-$i.log ./a; done\n", want: []string{"/w/o-1.log", "/w/o-2.log"}},
		"a loop that may be left":            {script: "for i in 1 2; do srun -o o-$i.log ./a || break; done\n", want: []string{"/w/o-1.log", "?/w/o-2.log"}},
		"home":                               {script: "srun -o $HOME/o-%j ./a; srun -o ~/p-%j ./a\n", want: []string{"/home/ann/o-%j", "/home/ann/p-%j"}},
		"a default":                          {script: "srun -o ${X:-logs}/o-%j ./a\n", want: []string{"/w/logs/o-%j"}},
		"cd before srun":                     {script: "RUN=/scratch/$USER/$SLURM_JOB_ID\nmkdir -p $RUN && cd $RUN && srun -o %t.log ./a\n", want: []string{"/scratch/%u/%j/%t.log"}},
		"a redirection by task":              {script: "mkdir -p logs/$SLURM_JOB_ID\nsrun bash -c 'python t.py > logs/$SLURM_JOB_ID/rank_$SLURM_PROCID.log 2>&1'\n", want: []string{">/w/logs/%j/rank_%t.log"}},
		"a redirection of the batch shell":   {script: "srun python t.py > log_$SLURM_PROCID.txt 2>&1 &\nwait\n", want: []string{">/w/log_0.txt"}},
		"a script that is run":               {script: "export D=/w/l\nE=not-exported\nbash launch.sh 7\n", files: map[string]string{"/w/launch.sh": "srun -o $D/${E:-e}-$1-%n.log ./a"}, want: []string{"/w/l/e-7-%n.log"}},
		"a script that srun runs":            {script: "srun ./launch.sh\n", files: map[string]string{"/w/launch.sh": "#!/bin/bash\nexec > out.$(hostname -s).$SLURM_LOCALID 2>&1\npython t.py"}, want: []string{">/w/out.%N.*"}},
		"a script that is sourced":           {script: "source env.sh\nsrun -o $LOGS/%t ./a\n", files: map[string]string{"/w/env.sh": "LOGS=/w/from-env"}, want: []string{"/w/from-env/%t"}},
		"a script written before":            {script: "cat > run_$SLURM_JOB_ID.sh <<EOF\npython t.py > r.\\$SLURM_PROCID.$SLURM_JOB_NAME\nEOF\nsrun bash run_$SLURM_JOB_ID.sh\n", want: []string{">/w/r.%t.%x"}},
		"torchrun":                           {script: "srun torchrun --nnodes 2 --log-dir tlogs --redirects 3 train.py --lr 1\n", want: []string{"?>/w/tlogs/**"}},
		"a loop":                             {script: "for n in a b; do srun -N1 -o $n-%j.out ./a & done; wait\n", want: []string{"/w/a-%j.out", "/w/b-%j.out"}},
		"a loop that counts":                 {script: "i=0\nwhile [ $i -lt 3 ]; do srun -o t$i-%j.out ./a; i=$((i+1)); done\n", want: []string{"/w/t0-%j.out", "/w/t1-%j.out", "/w/t2-%j.out"}},
		"a loop that may end early":          {script: "for i in 1 2; do srun ./a > try$i.log && break; done\n", want: []string{">/w/try1.log", "?>/w/try2.log"}},
		"a loop that nobody knows":           {script: "while [ $i -lt $N ]; do srun -o t$i-%j.out ./a; i=$((i+1)); done\n", want: []string{"?/w/t*-%j.out"}},
		"options of the script":              {script: "while getopts \"l:q\" o; do case $o in l) D=$OPTARG;; q) Q=1;; esac; done\nshift $((OPTIND-1))\nsrun -o $D/$1-%t ./a\n", args: []string{"-q", "-l", "/l", "n"}, want: []string{"/l/n-%t"}},
		"long options of the script":         {script: "while [ $# -gt 0 ]; do case $1 in --log) D=$2; shift 2;; *) N=$1; shift;; esac; done\nsrun -o $D/$N-%t ./a\n", args: []string{"--log", "/l", "n"}, want: []string{"/l/n-%t"}},
		"a filter behind a program":          {script: "python t.py 2>&1 | grep -v x > o.txt\necho a | sed s/a/b/ > c.txt\n", want: []string{">/w/o.txt"}},
		"a function that prints data":        {script: "card() { cat <<E\n$1\nE\n}\ncard 2 > e.input\nrun() { card 1; python t.py; }\nrun > r.txt\n", want: []string{">/w/r.txt"}},
		"another node by ssh":                {script: "for h in a b; do ssh -o Strict=no $h \"cd /p && torchrun t.py > logs/$h.log 2>&1\" & done\nssh c bash run.sh\n", files: map[string]string{"/home/ann/run.sh": "python t.py &> r.log"}, want: []string{">/p/logs/a.log", ">/p/logs/b.log", ">/home/ann/r.log"}},
		"a command in an argument":           {script: "tmux new-session -d 'python t.py > t.log'\npython -c 'print(1 > 0)'\n", want: []string{"?>/w/t.log"}},
		"options in an argument":             {script: "python run.py --mpi-args \"--bind-to none --output-filename /r/o -x PATH\"\n", want: []string{"?>/r/o/**"}},
		"Detectron's directory":              {script: "srun python t.py MODEL.W w.pkl OUTPUT_DIR out/$SLURM_JOB_ID\n", want: []string{"?>/w/out/%j/**"}},
		"srun in a variable from outside":    {script: "$SRUN -N1 --output=o-$SLURM_JOB_ID.log python t.py --log-dir l\n", want: []string{"?/w/o-%j.log", "?>/w/l/**"}},
		"a number that decides":              {script: "D=0\nif (( D )); then A=a; else A=b; fi\nsrun -o $A-%t ./a\n", want: []string{"/w/b-%t"}},
		"one of two redirections":            {script: "if grep -q x c; then D=a; else D=b; fi\npython t.py > $D.log\n", want: []string{"?>/w/a.log", "?>/w/b.log"}},
		"a loop over numbers":                {script: "for i in $(seq 0 1) {5..6}; do srun -o t$i.out ./a; done\n", want: []string{"/w/t0.out", "/w/t1.out", "/w/t5.out", "/w/t6.out"}},
		"a function":                         {script: "launch() { local name=$1; shift; srun -o $name-%j.out \"$@\"; }\nlaunch train ./a -o no\n", want: []string{"/w/train-%j.out"}},
		"a heredoc":                          {script: "srun bash <<'EOF'\npython t.py &> r-$SLURM_PROCID.log\nEOF\n", want: []string{">/w/r-%t.log"}},
		"a heredoc that is expanded":         {script: "srun bash <<EOF\npython t.py &> r-$SLURM_PROCID-\\$SLURM_PROCID.log\nEOF\n", want: []string{">/w/r-0-%t.log"}},
		"tee":                                {script: "srun ./a 2>&1 | tee -a logs/all_$SLURM_JOB_ID.log\n", want: []string{">/w/logs/all_%j.log"}},
		"exec":                               {script: "exec > >(tee batch-$SLURM_JOB_ID.log) 2>&1\nsrun ./a\n", want: []string{">/w/batch-%j.log"}},
		"NCCL's own file":                    {script: "export NCCL_DEBUG_FILE=/w/nccl.%h.%p\nsrun ./a\n", want: []string{"?>/w/nccl.%N.*"}},
		"the flight recorder's":              {script: "TORCH_NCCL_DEBUG_INFO_TEMP_FILE=/w/fr_ srun ./a\n", want: []string{"?>/w/fr_*"}},
		"a container's mounts":               {script: "srun --container-image=i --container-mounts=/w/data:/data:ro,/w/out:/out -o o-%j bash -c 'python t.py > /out/r$SLURM_PROCID.log'\n", want: []string{"/w/o-%j", ">/w/out/r%t.log"}},
		"hydra":                              {script: "srun python t.py hydra.run.dir=runs/$SLURM_JOB_ID +x=1\n", want: []string{"?>/w/runs/%j/**"}},
		"a percent sign of the name":         {script: "srun ./a > 50%.log\n", want: []string{">/w/50%%.log"}},
		"computed names":                     {script: "A=$(date +%s)\nsrun -o $A/$(hostname)/x-%n.log ./a\n", want: []string{"/w/*/*/x-%n.log"}},
		"a branch that nobody knows":         {script: "id=a\nif [ -f x ]; then id=b; fi\nsrun -o o-$id-%n ./a\n", want: []string{"?/w/o-b-%n", "?/w/o-a-%n"}},
		"a branch that is known":             {script: "id=$SLURM_JOB_ID\nif [ -n \"$SLURM_ARRAY_TASK_ID\" ]; then\n id=x\nfi\nsrun -o o-$id-%n ./a\n", want: []string{"/w/o-%j-%n"}},
		"an exit in a branch":                {script: "D=a\nif [ ! -d /x ]; then D=b; exit 1; fi\nsrun -o $D.%t ./a\n", want: []string{"/w/a.%t"}},
		"none, and a number":                 {script: "srun --output=none -e 0 ./a\necho srun -o x\n# srun -o no ./a\n"},
		"a program that is not known":        {script: "srun -n 4 $CMD -o o-%j.txt\n", want: []string{"?/w/o-%j.txt"}},
		"an option with a word":              {script: "srun -n 8 -c 4 --mpi pmix -o o-%n ./a -o b\n", want: []string{"/w/o-%n"}},
		"wrappers":                           {script: "time env A=1 timeout 3h srun -u -o%j-%t.log numactl -N 0 bash -c 'exec python t.py > x.$SLURM_NODEID'\n", want: []string{"/w/%j-%t.log", ">/w/x.%n"}},
		"a line that is no bash":             {script: "if then (\nsrun -o o-%j ./a\n", want: []string{"/w/o-%j"}},
		"data is no log":                     {script: "scontrol show hostnames > hosts\necho a > b.txt\n"},
		"a directory of a script":            {script: "bash /w/sub/l.sh\n", files: map[string]string{"/w/sub/l.sh": "D=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\nsrun -o $D/%t.log ./a"}, want: []string{"/w/sub/%t.log"}},
		"a case":                             {script: "case $SLURM_JOB_NAME in x) D=x;; *) D=y;; esac\nsrun -o $D%t ./a\n", want: []string{"?/w/x%t", "?/w/y%t"}},
		"indirect and cut":                   {script: "F=/w/a/train.py\nB=$(basename $F .py)\nsrun -o ${F%/*}/$B-${F##*/}.%t ./a\n", want: []string{"/w/a/train-train.py.%t"}},
		"a here-document below srun":         {script: "H=/h\nsrun bash <<EOF\n./a > $H/r-\\$SLURM_PROCID.log\nEOF\n", want: []string{">/h/r-%t.log"}},
		"a script through a pipe":            {script: "H=/h\ncat <<EOF | srun bash\n./a > $H/r-\\$SLURM_PROCID.log\nEOF\n", want: []string{">/h/r-%t.log"}},
		"a script that echo writes":          {script: "echo '#!/bin/bash' > r.sh\necho 'srun -o o-%t ./a' >> r.sh\nbash r.sh\n", want: []string{"/w/o-%t"}},
		"fields that read cuts":              {script: "for r in a:/x b:/y; do IFS=: read -r n d <<< $r; srun -o $d/$n-%j ./a; done\n", want: []string{"/x/a-%j", "/y/b-%j"}},
		"a list that read cuts":              {script: "read -ra l <<< 'a b'\nsrun -o ${l[1]}-%j ./a\n", want: []string{"/w/b-%j"}},
		"a function with a variable":         {script: "f() { D=$X; }\nX=/x f\nsrun -o $D/%j.$X ./a\n", want: []string{"/x/%j.*"}},
		"printf into a variable":             {script: "printf -v n 'r%s' 7\nsrun -o $n-%j ./a\n", want: []string{"/w/r7-%j"}},
		"a variable by mpirun":               {script: "mpirun -np 2 -x PATH -x NCCL_DEBUG_FILE=/l/n.%h.%p ./a\n", want: []string{"?>/l/n.%N.*"}},
		"a variable by docker":               {script: "srun docker run -v /h:/w2 -w /w2 -e NCCL_DEBUG_FILE=n.%p i python t.py --log-dir l\n", want: []string{"?>/h/n.*", "?>/h/l/**"}},
		"a directory by singularity":         {script: "srun time singularity exec --pwd /w2 --bind /h:/w2 i python t.py --log-dir l\n", want: []string{"?>/h/l/**"}},
		"a directory that is bound":          {script: "cd /h\nsrun singularity exec -B .:/app,/c/:/c/ --pwd /app i python t.py --log-dir l --out-dir /c/o\n", want: []string{"?>/h/l/**", "?>/c/o/**"}},
		"a directory by pyxis":               {script: "srun -o o-%t --container-workdir /w2 --container-mounts /h:/w2,/i:/w2/l python t.py --log-dir l/a\n", want: []string{"/w/o-%t", "?>/i/a/**"}},
		"a default that is assigned":         {script: ": \"${D:=./r}\"\nsrun -o $D/o-%t ./a\n", want: []string{"/w/r/o-%t"}},
		"unknown options behind the output":  {script: "srun -o o-%t $MORE bash -c 'exec python t.py > x.$SLURM_NODEID'\n", want: []string{"/w/o-%t", ">/w/x.%n"}},
		"parallel fills names in":            {script: "parallel -j 4 srun -n 1 -o logs/%j-{1}-{2.}.log ./a {1} {2} ::: a b ::: c.x d.x\n", want: []string{"/w/logs/%j-*-*.log"}},
		"R names its output":                 {script: "cd r && R CMD BATCH --vanilla fit.R fit-$SLURM_JOB_ID.Rout; R CMD BATCH src/next.R\n", want: []string{">/w/r/fit-%j.Rout", ">/w/r/next.Rout"}},
		"an option that names a shell":       {script: "docker run --entrypoint=/bin/bash i --x > o-$SLURM_JOB_ID.log\n", want: []string{">/w/o-%j.log"}},
	} {
		f := facts(c.files)
		f.Args = c.args
		r := Read("#!/bin/bash\n"+c.script, f)
		if got := shown(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q\nwant %q (%q)", name, got, c.want, r.Unknown)
		}
	}
}

// What cannot be known is said.
func TestWhatComesFromOutside(t *testing.T) {
	for script, want := range map[string]string{
		"srun $ARGS ./a\n":                      "srun takes $ARGS, which comes from outside the script",
		"srun ./launch.sh\n":                    "the script runs /w/launch.sh, which cannot be read",
		"bash launch.sh\n":                      "the script runs /w/launch.sh, which cannot be read",
		"eval $CMD\n":                           "$CMD holds a command and comes from outside the script",
		"torchrun --log-dir $L t.py\n":          "torchrun --log-dir is $L, which comes from outside the script",
		"torchrun --log-dir $L/x t.py\n":        "torchrun --log-dir writes to $L/x, and $L comes from outside the script",
		"source e.sh\n$LAUNCH t.py\n":           "the script runs $LAUNCH, and $LAUNCH comes from outside the script",
		"srun -o $OUT/%t ./a\n":                 "srun writes to $OUT/%t, and $OUT comes from outside the script",
		"read D < f\nsrun -o $D/%t ./a\n":       "srun writes to $D/%t, and $D comes from outside the script",
		"bash -c \"$(sed s/a/b/ c)\"\n":         "$(sed s/a/b/ c) holds a command and comes from outside the script",
		"bash -c \"$(echo $0 | sed s/a/b/)\"\n": "the script runs a command that it computes",
		"cd $X; srun -o %t ./a\n":               "srun writes to $X/%t, and $X comes from outside the script",
	} {
		r := Read("#!/bin/bash\n"+script, facts(nil))
		if !slices.ContainsFunc(r.Unknown, func(u string) bool { return strings.HasPrefix(u, want) }) {
			t.Errorf("%q: %q, want %q", script, r.Unknown, want)
		}
	}
}

// The number of an srun is known only where all before it are certain to have run in order.
func TestWhichSrunItIs(t *testing.T) {
	for script, want := range map[string]int{
		"srun -o a ./a\n": 0,
		"IP=$(srun -N1 hostname -i)\nsrun -o a ./a\n":     1,
		"srun ./b &\nsrun -o a ./a\n":                     -1,
		"if [ -f x ]; then srun ./b; fi\nsrun -o a ./a\n": -1,
		"bash gone.sh\nsrun -o a ./a\n":                   -1,
	} {
		if r := Read("#!/bin/bash\n"+script, facts(nil)); len(r.Outputs) != 1 || r.Outputs[0].Srun != want {
			t.Errorf("%q: %+v, want %d", script, r.Outputs, want)
		}
	}
}

// A script is whatever its user wrote: letters of several bytes, bytes that are no letters, and values that are no paths.
func TestHostileValuesAreBounded(t *testing.T) {
	long := strings.Repeat("x", 2*longestPath)
	for _, list := range []string{"IFS=é; set -- a b; J=\"$*\"; L=(\"$J\" \"$J\" \"$J\"1 \"$J\"2 \"$J\"3 \"$J\"4 \"$J\"5)",
		"L=($'a\\xff' $'a\\xff1' $'a\\xff2' $'a\\xff3' $'a\\xff4' $'a\\xff5')", "J=" + long + "\nL=($J $J $J $J $J $J)"} {
		r := Read("#!/bin/bash\n"+list+"\npython t.py > ${L[$RANDOM]}.log\n", Facts{Vars: map[string]string{}, Dir: "/w", Home: "/home/u"})
		for _, o := range r.Outputs {
			if len(o.Pattern) > longestPath {
				t.Errorf("%.40q: a path of %d bytes", list, len(o.Pattern))
			}
		}
	}
}

func TestHeader(t *testing.T) {
	r := Read("#!/bin/bash\n#SBATCH -N 4 -o slurm-%j.out\n#SBATCH --error=err/%x_%j.err  # where errors go\n#SBATCH -D /data\n#SBATCH --open-mode=append\nset -e\n#SBATCH -o late\n", Facts{})
	if r.Out != "slurm-%j.out" || r.Err != "err/%x_%j.err" || r.Dir != "/data" || !r.Append {
		t.Errorf("%+v", r)
	}
	if r := Read("#!/usr/bin/env python\n#SBATCH -o x-%j\nimport os\n", Facts{}); r.Out != "x-%j" || len(r.Outputs) > 0 || len(r.Unknown) != 1 {
		t.Errorf("%+v", r)
	}
	s := ParseSubmit("sbatch --parsable -J x -o logs/sbatch_%x_%j.out --export=ALL,A=b --open-mode=a job.sbatch -o no")
	if s.Out != "logs/sbatch_%x_%j.out" || !s.Append || s.Script != "job.sbatch" || len(s.Args) != 2 || s.Vars["A"] != "b" {
		t.Errorf("%+v", s)
	}
	if s := ParseSubmit("srun -N2 -o %j-%n.out ./train"); !s.Step || s.Out == "" {
		t.Errorf("%+v", s)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("#!/bin/bash\n#SBATCH -o x\nA=$(b `c`)\nsrun -o \"$A/${B:-c}\" x\n")
	f.Add("srun \\\n-o '")
	f.Add("#SBATCH -\nwhile getopts :a o; do :; done\nssh h 'x >'\nx '-o '")
	f.Add("f() { f; f; }\nf\nwhile :; do eval \"$x\"; for i in {1..9999999}; do f; done; done")
	f.Fuzz(func(t *testing.T, script string) {
		r := Read(script, facts(map[string]string{"/w/a": script}))
		ParseSubmit(script)
		if len(r.Outputs) > mostOutputs {
			t.Error(len(r.Outputs))
		}
	})
}
