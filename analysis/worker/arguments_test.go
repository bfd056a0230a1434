package worker

import (
	"maps"
	"testing"
)

func TestDumpsOfArgumentsAreRead(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       map[string]string
	}{
		{"Megatron", "------------------------ arguments ------------------------\n  adam_beta1 ...................................... 0.9\n" +
			"  data_path ....................................... ['/data/a', '/data/b']\n  hf_token ........................................ hf_abcdef\n" +
			"  tokenizer_type .................................. GPT2BPETokenizer\n-------------------- end of arguments ---------------------\n  later ........ 1\n",
			map[string]string{"adam_beta1": "0.9", "data_path": "['/data/a', '/data/b']", "tokenizer_type": "GPT2BPETokenizer"}},
		{"Megatron under a label", "3: ------------------------ arguments ------------------------\n3:   lr .............................................. 0.00015\n" +
			"3: -------------------- end of arguments ---------------------\n", map[string]string{"lr": "0.00015"}},
		{"DeepSpeed", "[2024-05-01 10:00:00,123] [INFO] [config.py:997:print] DeepSpeedEngine configuration:\n" +
			"[2024-05-01 10:00:00,124] [INFO] [config.py:1001:print]   zero_optimization_stage ...... 3\n[2024-05-01 10:00:00,125] [INFO] [config.py:987:print_user_config]   json = {\n" +
			"[2024-05-01 10:00:00,124] [INFO] [config.py:1001:print]   after ...... 3\n", map[string]string{"zero_optimization_stage": "3"}},
		{"NeMo", "[NeMo I 2024-03-01 10:00:00 megatron_gpt_pretraining:34] \n    \n    ************** Experiment configuration ***********\n" +
			"[NeMo I 2024-03-01 10:00:00 megatron_gpt_pretraining:35] \nname: gpt\ntrainer:\n  devices: 8\n  strategy:\n    find_unused: false\n  callbacks:\n  - one\nmodel:\n  seq_length: 4096\nGPU available: True (cuda), used: True\nx: 1\n",
			map[string]string{"name": "gpt", "trainer.devices": "8", "trainer.strategy.find_unused": "false", "model.seq_length": "4096"}},
		{"argparse", "Namespace(lr=0.1, name='a, b', shape=[1, 2], api_key='x')\n", map[string]string{"lr": "0.1", "name": "a, b", "shape": "[1, 2]"}},
		{"transformers", "05/01/2024 10:00:00 - INFO - __main__ - Training/evaluation parameters TrainingArguments(\n_n_gpu=1,\nlearning_rate=5e-05,\noutput_dir=/ckpt/out,\n)\nz=1\n",
			map[string]string{"_n_gpu": "1", "learning_rate": "5e-05", "output_dir": "/ckpt/out"}},
		{"DeepSpeed's runner", "[2024-05-01 10:00:00,123] [INFO] [runner.py:568:main] cmd = /usr/bin/python3 -u -m deepspeed.launcher.launch --world_info=eyJ --master_port=29500 train.py --lr 1e-4 --deepspeed --batch-size=4\n",
			map[string]string{"lr": "1e-4", "deepspeed": "true", "batch_size": "4"}},
		{"a shell's trace", "+ srun torchrun --nproc_per_node 8 pretrain.py --seq-length 4096 model.lr=3e-4\n", map[string]string{"seq_length": "4096", "model.lr": "3e-4"}},
		{"a sentence", "we call a + srun here and train.py --x 1\n", map[string]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := map[string]string{}
			for _, a := range observe(t, tt.text).Arguments {
				got[a.Name] = a.Value
			}
			if !maps.Equal(got, tt.want) {
				t.Errorf("got %v\nwant %v", got, tt.want)
			}
		})
	}
}

func TestTheJobsNameIsRead(t *testing.T) {
	obs := observe(t, "SLURM_JOB_NAME=llama3-70b\nSLURM_CLUSTER_NAME=west\n#SBATCH --job-name=other.v2\n")
	got := map[string]string{}
	for _, f := range obs.Facts {
		got[f.Key+"="+f.Value] = f.File
	}
	for _, want := range []string{"job_name=llama3-70b", "job_name=other.v2", "cluster=west"} {
		if _, ok := got[want]; !ok {
			t.Errorf("no %s in %v", want, got)
		}
	}
}
