package secrets

import (
	"math/rand/v2"
	"strings"
)

// identifiers are lines of healthy logs with what only looks like a secret. Every one must stay readable.
var identifiers = []string{
	"commit {h40}", "git rev-parse HEAD: {h40}", "HEAD is now at {h7} fix the loader", "Build: {h12} ({h40})", "+ git checkout {h40}",
	"sha256:{h64}", "image digest sha256:{h64}", "{h64}  data/shard-{d5}.tar", "md5 {h32} model.bin", "etag \"{h32}\"", "ETag: \"{h32}-{d2}\"",
	"run id {u}", "PG GUID {u} desc: default_pg", "[PG ID 0 PG GUID 0(default_pg) Rank {d2}]", "[PG GUID {h16} Rank {d1}] Timeout at work", "GPU-{u}", "MIG-{u}", "uuid={u}",
	"loading /ckpt/{h40}/step_{d5}/model.safetensors", "saved /ckpts/llama3-8b-{d8}/iter_{d7}/mp_rank_00/model_optim_rng.pt", "s3://ckpts/run-{h8}/step-{d6}/__{d2}_0.distcp",
	"checkpoint epoch={d2}-step={d5}-val_loss=0.{d4}.ckpt", "restoring from ckpt-{d8}_{d6}-{h8}", "latest_checkpointed_iteration.txt {d6}",
	"registry.host/team/train:{h12}-cuda12.4-py310", "ghcr.io/org/img@sha256:{h64}", "nvcr.io/nvidia/pytorch:24.{d2}-py3", "image train-{d8}-{h7} pulled", "docker://org/app:sha-{h40}",
	"wandb: View run at https://wandb.ai/team/proj/runs/{a8}", "wandb: Run data is saved locally in wandb/run-{d8}_{d6}-{a8}", "wandb: Syncing run fluffy-sunset-{d3}", "mlflow run {h32}", "neptune run PROJ-{d4}",
	"host node-{d4}.cluster.local", "ip-10-{d2}-{d2}-{d2}.us-west-2.compute.internal", "gpu-h100-{a5}-{d2}", "slurmstepd on nid{d6}", "trainer-{a5}-worker-{d2}", "pod train-job-{h9}-{a5} started", "h100-pool-{a8}-{a4}.internal",
	"ncclUniqueId 0x{h16}", "comm 0x{h12} rank {d2} nranks 64 cudaDev 3 busId {h6} commId 0x{h16} - Init COMPLETE", "ncclCommInitRank commHash 0x{h16}", "NCCL_COMM_ID={d2}.{d2}.{d2}.{d2}:{d5}", "NET/IB : GID fe80:0000:0000:0000:{h4}:{h4}:{h4}:{h4}",
	"rdzv_id={u}", "rdzv_endpoint=node01:29500 run_id={d7}", "torchrun run id {a16}", "torchelastic_restart_{d3}", "TORCHELASTIC_RUN_ID={u}", "store key {h8}/rank_{d3}", "key=/rendezvous/{h16}/participants", "store_key: default_pg/0//cuda//timeout_dump_{d2}",
	"SLURM_JOB_ID={d7} SLURM_STEP_ID=0", "job {d7}_{d3}.batch", "sacct -j {d7}", "ray job raysubmit_{A16} started", "actor {h32} died", "node {h56}", "ObjectRef({h48})",
	"x-amz-request-id: {U16}", "x-amz-id-2: {B75}=", "RequestId: {U16}, HostId: {B75}=", "x-goog-generation: {d16}", "versionId={w32}", "request id req_{A24}", "trace_id={h32} span_id={h16}", "traceparent: 00-{h32}-{h16}-01", "X-Request-ID: {u}",
	"SHA256:{B43}", "ED25519 key fingerprint is SHA256:{B43}.", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B43} robot@host", "ssh-rsa AAAAB3NzaC1yc2E{B349}= robot@host", "integrity sha512-{B86}==", "cache key {h64}", "triton cache key: {h64}", "/root/.triton/cache/{U52}/kernel.so", "/root/.triton/cache/{w43}/kernel.cubin", "inductor cache f{a50}.py", "/tmp/torchinductor_root/{a2}/c{a51}.py",
	"ais://bucket/{h2}/{h32}.tar", "t[{A8}] p[{A8}]: smap v{d2}", "daemon t[kQntZ{d4}] xaction x-get-batch[{A9}]", "x-rebalance[g{d2}]", "{u}.parquet", "part-{d5}-{u}-c000.snappy.parquet", "gs://data/shards/{h16}-{d5}-of-{d5}.tfrecord", "models--meta-llama--Llama-3/snapshots/{h40}/config.json", "blobs/{h64}", "pytest-of-root/pytest-{d2}/tmp{a8}", "/tmp/tmp{a8}/file", "/dev/shm/psm_{h8}", "torch_{d5}_{d10}_{d4}", "nsys-{h4}-{h4}-{h4}.qdrep",
	"_ZN4c10d16ProcessGroupNCCL8WorkNCCL15checkTimeoutESt8optionalINSt6chrono8durationIlSt5ratioILl1ELl1000EEEEE", "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "triton_poi_fused__to_copy_add_mul_native_layer_norm_{d2}", "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_32x6_nn_align8>",
	"frame #3: c10::detail::torchCheckFail(char const*, char const*, unsigned int, std::string const&) + 0x{h2} (0x{h12} in /opt/lib/libc10.so)", "PC: @ 0x{h12} (unknown) raise", "CUDA_VISIBLE_DEVICES=GPU-{u}", "max_tokens=8192 num_tokens: {d9}", "pad_token_id={d6} eos_token='<|endoftext|>'", "token ids [{d5}, {d5}, {d5}]", "tokens per second: {d5}.{d2}", "tokenizer.json sha {h8}", "key_padding_mask shape [8, {d4}]", "q_proj.weight k_proj.bias primary_key={d4}", "state_dict key model.layers.{d2}.self_attn.k_proj.weight", "missing key: transformer.h.{d2}.attn.c_attn.weight", "KeyError: 'model.layers.{d2}.mlp.gate_proj.weight'", "Unexpected key(s) in state_dict: \"module.head.{d2}.bias\"",
	"forward pass: 0.{d3} s, backward pass: 0.{d3} s", "pass={d1} loss=2.{d3}", "secret santa dataset v{d2}", "the password is incorrect", "token is invalid or expired", "Permission denied (publickey,password).", "token expired at 2026-03-04T11:02:03Z", "no credentials found, using anonymous access", "session {d6} opened for user root", "auth method: munge", "AuthType=auth/munge CryptoType=cred/munge", "password authentication failed for user robot", "key exchange completed in {d3} ms", "cookie: none", "signature version s3v4", "credential provider chain: env, profile, imds",
	"ulid 01{U24}", "job-{h24}", "experiment {h24}", "torch==2.{d1}.0+cu124 git{h40}", "cuDNN 9{d4} driver 550.{d2}.{d2}", "kernel 5.15.0-{d4}-generic", "serial {d13}", "InfiniBand guid 0x{h16} lid {d3}", "mlx5_{d1} node_guid: {h4}:{h4}:{h4}:{h4}", "NVLink fabric ClusterUUID {u}", "bus id 00000000:{h2}:00.0", "serial number {U14}", "asset MT{d4}X{d5}", "deterministic hash(params)=0x{h16}", "weights crc32c {h8}", "dataset fingerprint {h16}", "cache-{h16}.arrow", "hf datasets {h64}.incomplete", "lock /root/.cache/huggingface/hub/.locks/{h64}.lock",
	"iter {d6}/ 500000 | consumed samples: {d9} | loss: 2.{d6}E+00", "2026-03-04T11:02:03.{d6}Z INFO step={d5} lr=3.{d2}e-4", "E0304 11:02:03.{d6} {d6} ProcessGroupNCCL.cpp:{d3}] [Rank {d2}] timeout", "DataLoader worker (pid(s) {d6}) exited unexpectedly", "node07: task 12: Out Of Memory", "XID 79 GPU has fallen off the bus pid={d6}", "slurm_job_{d7}_restart_{d1}", "flyte exec f{a19}", "argo workflow train-{a5}", "dag run manual__2026-03-04T11:02:03.{d6}+00:00", "exp_{d8}_{d6}_bs{d3}_lr3e4_seed{d2}", "gpt3-175b-tp8-pp16-dp32-{h6}", "Qwen2.5-72B-Instruct-GPTQ-Int4 rev {h40}", "sharding FSDP2_HYBRID_ZeRO3_bf16_v{d2}",
}

// Identifiers returns n lines without a secret; the same seed gives the same lines.
func Identifiers(seed uint64, n int) []string {
	out := make([]string, n)
	r := rand.New(rand.NewPCG(seed, 7))
	for i := range out {
		line := strings.ReplaceAll(identifiers[i%len(identifiers)], "{d}", "{d1}")
		out[i] = fill(line, r)
		if i%5 == 4 {
			out[i] = "[rank" + fill("{d2}", r) + "]: 2026-03-04 11:02:03 " + out[i]
		}
	}
	return out
}
