package scan

// typical is a sample of what healthy jobs print, in the proportions in which they do. It only steers which part of a
// literal the filter looks for: with any other text the same lines are found, more slowly.
const typical = `
[rank0]:[W603 17:48:01.005271823 ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 as device used by this process is currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect. You can specify device_id in init_process_group() to force use of a particular device.
[rank3]:[W804 11:02:37.104417358 ProcessGroupNCCL.cpp:5023] Guessing device ID based on global rank. This can cause a hang if rank to GPU mapping is heterogeneous. You can specify device_id in init_process_group()
[default3]: [2025-06-03 17:48:01] iteration     1580/  500000 | consumed samples:       404480 | elapsed time per iteration (ms): 730.1 | throughput per GPU (TFLOP/s/GPU): 412.0 | learning rate: 2.999E-04 | global batch size:   256 | lm loss: 2.184771E+00 | loss scale: 1.0 | grad norm: 0.312 | number of skipped iterations:   0 | number of nan iterations:   0 |
 [2025-06-03 17:48:03] iteration     1590/  500000 | consumed samples:       407040 | elapsed time per iteration (ms): 745.9 | learning rate: 2.998E-04 | global batch size:   256 | lm loss: 2.091143E+00 | loss scale: 1.0 | grad norm: 0.297 | num zeros: 0.0 | params norm: 1043.1 | number of skipped iterations:   0 | number of nan iterations:   0 |
Training epoch 0, iteration 99/999 | lr: 2.9e-05 | global_batch_size: 512 | global_step: 99 | reduced_train_loss: 2.15 | train_step_timing in s: 0.73 | consumed_samples: 51200
Epoch 0:   6%|█         | 32040/500150 [6:28:43<94:39:17,  1.37it/s, v_num=95nc, reduced_train_loss=2.590, global_step=32040.0, consumed_samples=2.56e+7, train_step_timing in s=0.731]
 41%|██████▌         | 366/903 [5:15:39<6:53:09, 46.16s/it]
 42%|██████▌         | 367/903 [5:16:25<6:52:23, 46.16s/it]
[rank12]:  87%|████████████████████████████████▊     | 8721/10000 [2:31:07<20:53,  1.02s/it]
{'loss': 0.4589, 'grad_norm': 1.0493940198290594, 'learning_rate': 5.284132841328413e-06, 'epoch': 1.22}
{'loss': 0.4412, 'grad_norm': 0.9811203948201203, 'learning_rate': 5.280121302130213e-06, 'epoch': 1.23}
[2025-06-03 17:48:01,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=100, skipped=0, lr=[1e-05, 1e-05], mom=[[0.9, 0.95], [0.9, 0.95]]
[2025-06-03 17:48:01,123] [INFO] [timer.py:199:stop] epoch=0/micro_step=100/global_step=100, RunningAvgSamplesPerSec=12.1, CurrSamplesPerSec=12.0, MemAllocated=1.0GB, MaxMemAllocated=2.0GB
[rank0]:[titan] 2025-03-12 11:10:21,511 - root - INFO - step: 22  loss:  6.2250  grad_norm:  0.4100  memory:  1.41GiB(1.79%)  tps: 193,831  tflops: 18.36  mfu: 1.86%
step 120/5000 loss 2.31 lr 1e-4 tokens 1048576 grad 0.31 dt 412ms
completed step: 412, seconds: 0.853, TFLOP/s/device: 182.402, Tokens/s/device: 4801.203, total_weights: 524288, loss: 3.104
node0012:41003:41903 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] [send] via NET/IB/0/GDRDMA
node0012:41003:41903 [3] NCCL INFO Channel 12/0 : 27[3] -> 28[4] via P2P/CUMEM/read
node0012:41003:41903 [3] NCCL INFO Channel 13/0 : 27[3] -> 35[3] [receive] via NET/IB/3/GDRDMA
node0012:41003:41903 [3] NCCL INFO Trees [0] 4/-1/-1->3->2 [1] 4/-1/-1->3->2 [2] 4/-1/-1->3->2 [3] 4/-1/-1->3->2
node0012:41003:41903 [3] NCCL INFO Connected all rings, use ring PXN 0 GDR 1
node0012:41003:41903 [3] NCCL INFO Connected all trees
node0012:41003:41903 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB [RO]; OOB bond0:10.0.12.3<0>
node0012:41003:41903 [3] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.
node0012:41003:41903 [3] NCCL INFO NCCL_SOCKET_IFNAME set by environment to bond0
node0012:41003:41903 [3] NCCL INFO threadThresholds 8/8/64 | 512/8/64 | 512 | 512
node0012:41003:41903 [3] NCCL INFO 24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 2 p2p channels per peer
/opt/venv/lib/python3.12/site-packages/torch/utils/checkpoint.py:87: UserWarning: None of the inputs have requires_grad=True. Gradients will be None
/usr/local/lib/python3.10/dist-packages/transformers/utils/generic.py:441: FutureWarning: torch.utils._pytree._register_pytree_node is deprecated. Please use torch.utils._pytree.register_pytree_node instead.
  warnings.warn("torch.cuda.amp.custom_fwd(args...) is deprecated", FutureWarning, stacklevel=2)
2025-06-03 17:48:01,812 - megatron.core.utils - WARNING - num_layers_per_virtual_pipeline_stage is deprecated and will be removed
2025-06-03 17:48:01,812 - dataset.loader - INFO - shard 031229 of 262144 opened, 1928 samples
INFO:root:epoch 3 batch 1200 of 8000 time 0.412 data 0.003 lr 0.000100
06/03/2025 17:48:01 - INFO - __main__ -   Num examples = 52002, Instantaneous batch size per device = 8, Gradient Accumulation steps = 4
[NeMo I 2025-06-03 17:48:01 nemo_logging:393] consumed_samples=4096 global_batch=256 micro_batch=2 data_wait=0.0122
[NeMo W 2025-06-03 17:48:01 nemo_logging:405] The checkpoint callback was told to monitor a validation value and trainer max_steps was set
{"ts": "2025-06-03T17:48:01Z", "level": "info", "rank": 28, "tokens_per_s": 8284, "mem_gb": 63.33, "queue": 16}
{"time": "2025-06-03 17:48:01.123", "level": "INFO", "logger": "trainer", "message": "step", "step": 1200, "lr": 0.0003, "grad_norm": 0.41, "tokens": 1228800}
[rank7]:   File "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1736, in _wrapped_call_impl
[rank7]:     return self._call_impl(*args, **kwargs)
[rank7]:   File "/workspace/src/training/train.py", line 412, in train_step
[rank7]:     output = model(input_ids, attention_mask=attention_mask)
0: 2025-06-03 17:48:01 | INFO | fairseq.trainer | begin training epoch 1 | num_updates 1200 | wps 12000.1 | ups 0.41 | gnorm 0.51
(WorkerDict pid=3490362) step:12 - actor/pg_loss:0.012 - actor/grad_norm:0.31 - critic/score/mean:0.412 - response_length/mean:812.1
(WorkerDict pid=3490362) INFO 06-03 17:48:01 metrics.py:455] Avg prompt throughput: 12.1 tokens/s, Avg generation throughput: 812.1 tokens/s, Running: 12 reqs
I0603 17:48:01.005271 139812345678592 checkpoint.py:312] Restoring params with sharding from a previous state.
> building train, validation, and test datasets ... time (ms) | model-and-optimizer-setup: 4120.31 | train/valid/test-data-iterators-setup: 512.12
max time across ranks (ms): forward-backward: 689.12 optimizer: 31.02 all-grads-sync: 12.10 params-all-gather: 8.12
` + "\x1b[32mEpoch 0:  41%|████████████\x1b[0m                  | 4120/10000 [1:31:07<6:53:09,  1.37it/s]\r\x1b[32mEpoch 0:  42%|█████████████\x1b[0m" +
	"                 | 4121/10000 [1:31:08<6:53:09,  1.37it/s]\r\n2025-06-03T17:48:01.123Z \x1b[34mINFO\x1b[0m trainer: \x1b[1mstep\x1b[0m 1200\n"

// troubled is a sample of what programs repeat when something they need does not answer: in a storm every second line is one of
// these. It counts for less than typical. The daemons of a storage write the last ones.
const troubled = `
2025-06-03 17:48:01,812 - urllib3.connectionpool - WARNING - Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ConnectTimeoutError(<urllib3.connection.HTTPConnection object at 0x7f3a1c0d5e50>, 'Connection to store timed out. (connect timeout=20)')': /v1/objects/data/train-000123.tar
2025-06-03 17:48:01,812 - urllib3.connectionpool - WARNING - Retrying (Retry(total=2, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ConnectionResetError(104, 'Connection reset by peer')': /v1/objects/data/train-000123.tar
WARNING:urllib3.connectionpool:Connection pool is full, discarding connection: storage.example. Connection pool size: 10
requests.exceptions.ConnectionError: ('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))
requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url: http://store:51080/v1/objects/data/train-000123.tar
[rank7]: requests.exceptions.ReadTimeout: HTTPConnectionPool(host='store', port=51080): Read timed out. (read timeout=20)
[rank7]: ConnectionResetError: [Errno 104] Connection reset by peer
[rank7]: BrokenPipeError: [Errno 32] Broken pipe
[rank7]: ConnectionRefusedError: [Errno 111] Connection refused
[rank7]: OSError: [Errno 5] Input/output error: '/mnt/data/train-000123.tar'
WARNING:root:batch 812 failed after 3 attempts: timed out, retrying in 5 seconds (attempt 4 of 5)
ERROR - request to the target failed: status 503, object data/train-000123.tar, retry 2/5
[rank7]:[W603 17:48:01.005271823 socket.cpp:697] [c10d] The client socket has failed to connect to [node0012]:29500 (errno: 111 - Connection refused).
[rank7]:[W603 17:48:01.005271823 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=71, addr=[node0012]:41003, remote=[node0001]:29500): failed to recv, got 0 bytes
node0012:41003:41903 [3] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.12.3<40312> failed : Software caused connection abort
node0012:41003:41903 [3] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node0013<40312>
node0012:41003:41903 [3] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.12.3<40312> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.0.12.3 remoteGids ::ffff:10.0.12.4 hca mlx5_0
I 17:48:01.112233 {err.get.n:3,get.n:4812,get.ns.total:81234567,get.size:123456789,getbatch.n:512,getbatch.obj.n:32768,kalive.ns:853669,put.n:618,put.ns.total:356661019,state.flags:6,stream.in.n:9216,stream.out.n:9344,stream.out.size:1290534912}
I 17:48:01.112234 moss:521 get-batch[gbt-x1] ctlmsg ( t[target-1]:[reqs:12 errs:110 objs:(15460,1.89GiB)] )
W 17:48:01.112235 moss:678 x-get-batch[gbt-x1]-ais://data t[target-1] bcast abort [ GFN(ais://data/o/000123, t[target-2]): Get "http://10.0.0.2:51081/v1/objects/data/o/000123?gfn=true": dial tcp 10.0.0.2:51081: connect: connection refused ]
E 17:48:01.112236 htrun:1402 t[target-1]: failed to fast-kalive p[proxy-0]: Put "http://10.0.0.1:51080/v1/daemon/keepalive": context deadline exceeded (Client.Timeout exceeded while awaiting headers)
`
