package script

import (
	"slices"
	"testing"
)

// Shapes that public scripts have: where each was seen, the statements that decide where its output goes, in words of our own,
// and where that is. Nothing of the scripts is copied.
func TestShapesOfPublicScripts(t *testing.T) {
	for _, c := range []struct {
		where, script string
		args          []string
		out           string   // of #SBATCH
		want          []string // as shown writes them
		unknown       int
	}{
		{where: "jamesafranke/ViT_clouds scripts/jim_bash.bash", script: "#SBATCH --output=%x_%A.out\ntorchrun --nnodes=1:2 --rdzv_endpoint=localhost:6000 t.py", out: "%x_%A.out"},
		{where: "slitvinov/deepseek-slurm main2.sh", script: "a=`srun \"$@\" sh -xeuc 'if test $SLURM_PROCID -eq 0; then hostname; fi'`\nsrun \"$@\" sh -xeuc '\n torchrun --master-addr '$a' main.py'"},
		{where: "codebyzeb/BabyLM scripts/run_hpc_expt.sh", script: "srun torchrun \\\n--nnodes 1 \\\n--rdzv_id $RANDOM \\\ntrain.py $@"},
		{where: "mmmmayi/Grad-W IRM/run.sh", script: "#SBATCH -o temp.out\n#####SBATCH -p new\ntorchrun --standalone train.py", out: "temp.out"},
		{where: "lalasray/CrosSim Model/run.sh", script: "srun -K --job-name=l --gpus=1 --output output/console.%A_%a.out --error output/console.%A_%a.error \\\n --container-image=/i.sqsh --container-workdir=`pwd` --container-mounts=/n:/n,`pwd`:`pwd` --export=\"A=b,C=d\" install.sh python x.py \"$@\" &",
			want: []string{"/w/output/console.%A_%a.out", "/w/output/console.%A_%a.error"}},
		{where: "xingyaoww/code-act scripts/slurm/run_megatron_gpu_interactive.sh", script: "srun \\\n -A X --nodes=1 --tasks=1 --mem=60g --pty scripts/run.sh", unknown: 1},
		{where: "saienduri/Megatron-LM examples_deepspeed/slurm_pretrain_gpt_TEMPLATE.sh", script: "#SBATCH -o %x-%j_%N.out\n#SBATCH -e %x-%j_%N.err\nsrun -N 4 $@", args: []string{"x.sh"}, out: "%x-%j_%N.out", unknown: 1},
		{where: "NVIDIA/Megatron-LM examples/sc21/SRUN.sh", script: "D=`pwd`\nT=`date +'date_%y-%m-%d'`\nmkdir -p ${D}/logs\nCMD=\"python -u ${CODE}/p.py ${PARAMS}\"\nsrun -l --container-image \"n#p\" --container-mounts \"${D}:${D},${CODE}:${CODE}\" --output=${D}/logs/%x_%j_$T.log sh -c \"${CMD}\"",
			want: []string{"/w/logs/%x_%j_*.log"}},
		{where: "saikat107/PoPAI-RL scripts/finetune_dist_no_thought.sh", script: "rank=$1;\nmkdir -p logs;\naccelerate launch --machine_rank $rank f.py 2>&1 | tee logs/finetune-${rank}.log", args: []string{"3"}, want: []string{">/w/logs/finetune-3.log"}},
		{where: "andrewor14/models slurm/run_test_slurm.sh", script: "#SBATCH --output=slurm-%x-%j.out\nL=\"/home/a/logs\"\nR=\"/home/a/run.sh\"\nsrun --output=$L/slurm-%x-%j-%n.out \"$R\" \"$S\"", out: "slurm-%x-%j.out", want: []string{"/home/a/logs/slurm-%x-%j-%n.out"}},
		{where: "KangchengLiu/FAC_Foreground_Aware_Contrast Downstreams/scripts/pretrain_node4.sh", script: "#SBATCH --open-mode=append\nP=$2\nmkdir -p $P\nsrun --output=${P}/%j.out --error=${P}/%j.err --label python w.py $1", args: []string{"c", "/d/l"}, want: []string{"/d/l/%j.out", "/d/l/%j.err"}},
		{where: "haoyuz/models slurm/run_test_slurm.sh", script: "#SBATCH --output=slurm-%x-%j.out\nL=/home/h\nsrun --output=$L/slurm-%x-%j-%n.out $S", out: "slurm-%x-%j.out", want: []string{"/home/h/slurm-%x-%j-%n.out"}},
		{where: "pytorch/torchtitan run_8node.sh", script: "srun -p l -n 8 -N 8 -w \"H-[1-8]\" \\\ntorchrun --local-ranks-filter 0 ./train.py --job.config_file ./l.toml"},
		{where: "He-Wenhao/ML-LinearSpace torchrun_script.sh", script: "export A=$(scontrol show hostname ${SLURM_NODELIST} | head -n 1)\ntorchrun --rdzv_endpoint=$A:29400 t.py"},
		{where: "FFGGSSJJ/DeepSpeedExamples training/HelloDeepSpeed/run_ds.sh", script: "N=$SLURM_NODEID\ndeepspeed --hostfile='./h' --no_ssh --node_rank=$N --master_addr=$1 t.py --checkpoint_dir './e'"},
		{where: "mashooo/pytorch_examples distributed/ddp-tutorial-series/slurm/sbatch_run.sh", script: "#SBATCH --chdir=/w\nsrun -l --ntasks-per-node=1 slurm/torchrun.sh", unknown: 1},
		{where: "CSCfi/pytorch-ddp-examples run-gpu4-dist-mahti.sh", script: "#SBATCH --time=15\n#module purge\nsrun python3 -m torch.distributed.run --standalone --nproc_per_node=4 $*"},
		{where: "apple/axlearn run_trn.sh", script: "#SBATCH --output=slurm-%x-%j.out\nsrun  --kill-on-bad-exit=1  run_trainer.sh", out: "slurm-%x-%j.out", unknown: 1},
		{where: "Luffy03/VoCo Finetune/CC-CCII/train.sh", script: "now=$(date +\"%Y%m%d_%H%M%S\")\nlogdir=runs/logs\nmkdir -p $logdir\ntorchrun --master_port=1 main.py \\\n --logdir $logdir | tee $logdir/$now.txt", want: []string{"?>/w/runs/logs/**", ">/w/runs/logs/*.txt"}},
		{where: "PieterGort/MedPrototypeNetworks ProtoPNet/scripts/run_containervitpnet.sh", script: "export WANDB_DIR=wandb/$SLURM_JOBID\nwandb login\ntorchrun --nnodes=1 main.py --wandb"},
		{where: "0-1CxH/megatron-wrap run.sh", script: "A=\"--nproc-per-node ${G:-8} \\\n --master-addr ${M:-$(hostname)}\"\ntorchrun $A \\\n main.py \\\n 2>&1 | tee console_logs", want: []string{">/w/console_logs"}},
		{where: "JakobEdding/pytorch-dist-pos-tagger train_eval_test.sh", script: "OMPI_X=poll python3 -u ./l.py 2>&1 | tee \"../logs/out-$OMPI_COMM_WORLD_RANK-$(date +'%m-%d-%Y, %H')\"", want: []string{">/logs/out-*-*"}},
		{where: "stijndebeer/NNCV_0941451 Final_assignment/jobscript_slurm.sh", script: "srun apptainer exec --nv --env-file .env container.sif /bin/bash main.sh", unknown: 1},
		{where: "David-Drexlin/DataAugmentation scripts/LARS_AN.sh", script: "apptainer run --nv c.sif python train.py --yaml L.yaml"},
		{where: "rkenny/4960A SUGER/submit.beluga.sh", script: "#SBATCH --mem-per-cpu=8G\npython train.py"},
		// Found afterwards, by other questions.
		{where: "facebookresearch/pal projects/visualization/bash/train_launcher.sh", script: "#SBATCH --output=./logs/visu/%A/%a.out\npython ./t.py grid --num-tasks $SLURM_ARRAY_TASK_COUNT --task-id $SLURM_ARRAY_TASK_ID", out: "./logs/visu/%A/%a.out"},
		{where: "robflynnyh/learning-to-augment exp/job.sh", script: "echo \"Task $SLURM_ARRAY_TASK_ID\"\nsource activate a\npython t.py --config ./c.yaml --index $SLURM_ARRAY_TASK_ID"},
		{where: "LaviSchlyter/4D-Flow-CNN-Segmentation run_sbatch.sh", script: "#SBATCH  --output=logs/sbatch_log/%j.out\nsource /s/conda.sh\nconda activate hpc\npython -u t.py \"$@\"", args: []string{"--x"}, out: "logs/sbatch_log/%j.out"},
		{where: "diegoandradecanosa/Cesga2023Courses pytorch_dist/ray/001/rayworkers.sh", script: "n=${1}\nsrun --nodes=1 --ntasks=1 -w \"$n\" \\\n ray start --address \"$2\" --num-cpus \"${SLURM_CPUS_PER_TASK}\" --block &", args: []string{"a", "b"}},
		{where: "diegoandradecanosa/Cesga2023Courses pytorch_dist/ray/000/raymaster.sh", script: "source $STORE/a\nsrun --nodes=1 --ntasks=1 -w \"$1\" ray start --head --port=$3 --block &", args: []string{"a", "b", "c"}},
		{where: "agents-x-project/PyVision-RL verl_agents/slurm_scripts/ray_worker_start.sh", script: "RAYLOG=\"/tmp/r\"\nray start --address \"h:1\" --temp-dir=$RAYLOG --block\nsleep infinity"},
		{where: "ULHPC/tutorials deep_learning/scalable/scripts/imagenet_resnet.sh", script: "#SBATCH -o logs/%x-%j.out\n##SBATCH --reservation=h\n. scripts/setup.sh\nc=configs/i.yaml\nsrun -l python t.py $c --distributed", out: "logs/%x-%j.out"},
		{where: "eracah/slot-contrastive-networks launch_scripts/mila_cluster.sl", script: "#SBATCH -o /n/slurm-%j.out  # Write\n#SBATCH -e /n/slurm-%j.out\npython -m s.train $@ --run-dir $SLURM_TMPDIR\ncp -r  $SLURM_TMPDIR/wandb/* /n", out: "/n/slurm-%j.out", unknown: 1},
		{where: "pbelevich/fair_seq_fsdp_slurm fairseq_fsdp_sbatch.sh", script: "#SBATCH --open-mode=append\n#SBATCH--time=24:00:00\nsrun --label fairseq_fsdp.sh", unknown: 1},
		{where: "a 2> and a 1> by number (repository not told)", script: "id=$SLURM_JOB_ID\nd=results/logs\nscontrol write batch_script ${id} ${d}/a.sh\nidx=0; export C=$idx; stdbuf -oL python -u r.py 2>${d}/slurm-${id}_$idx.err 1>${d}/slurm-${id}_$idx.out --outfile=x",
			want: []string{">/w/results/logs/slurm-%j_0.err", ">/w/results/logs/slurm-%j_0.out"}},
		{where: "the arguments behind the fifth, tee and nothing (repository not told)", script: "P=$1\nN=$2\nARGS=${ARGS:-\"\"}\nPY=${@:3}\nmkdir log\nnohup srun -p ${P} -n 2 ${ARGS} python -u $(dirname \"$0\")/t.py --work_dir e/$N ${PY} 2>&1 | tee e/$N.log > /dev/null &", args: []string{"p", "name"},
			want: []string{"?>/w/e/name/**", ">/w/e/name.log"}},
		{where: "a command line from a file (repository not told)", script: "srun $(head -n $SLURM_ARRAY_TASK_ID d.txt | tail -n 1)"},
		{where: "a directory of the job (repository not told)", script: "#SBATCH --output=outputs/output_%j\ncd /scratch\nmkdir $SLURM_JOB_ID\ncd $SLURM_JOB_ID\niget -r /a/b\nsrun python -u b.py > t.log", out: "outputs/output_%j", want: []string{">/scratch/%j/t.log"}},
		{where: "a log named after the rank of the batch script (repository not told)", script: "D=$3\nL=\"${D}/log_${SLURM_JOB_ID}_rank_${SLURM_PROCID}.log\"\nmkdir -p \"${D}\"\nsrun --output=\"$L\" torchrun t.py", args: []string{"a", "b", "/d"}, want: []string{"/d/log_%j_rank_0.log"}},
		{where: "a directory that a program tells (repository not told)", script: "cd $(ws_find lth)\nsource e/bin/activate\nsrun -o l.%t ./a", want: []string{"*/l.%t"}, unknown: 1},
		{where: "a log named after the process (repository not told)", script: "L=\"logs/logfile_jobid_$SLURM_JOBID\"_\"pid_$$.txt\"\nsource /v/activate\npython3 t.py > $L 2>&1", want: []string{">/w/logs/logfile_jobid_%j_pid_*.txt"}},
		{where: "a script written by another (repository not told)", script: "LOG=$D/${T}.log\necho \"#!/bin/bash\n#SBATCH --output=$LOG\" > job.sh\nsbatch job.sh"},
	} {
		f := facts(nil)
		f.Args = c.args
		r := Read("#!/bin/bash\n"+c.script+"\n", f)
		if got := shown(r); !slices.Equal(got, c.want) || r.Out != c.out || len(r.Unknown) != c.unknown {
			t.Errorf("%s: %q, batch %q, unknown %q\nwant %q, %q, %d", c.where, got, r.Out, r.Unknown, c.want, c.out, c.unknown)
		}
	}
}
