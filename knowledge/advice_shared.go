package knowledge

// Advice that several entries share: what to do first is the same for each of their lines.
var (
	adviceLibraryRoom   = Advice{"Lower the batch until some hundred MB stay free: this library takes its memory outside PyTorch's pool.", "ssh {node} nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv"}
	adviceAbsurd        = Advice{"Compare the size in {line} with the memory of the node: an absurd size is a bug.", "ssh {node} free -g"}
	adviceRayMemory     = Advice{"Give each task a memory request (memory=…), so that Ray puts fewer of them on one node.", "ray memory --stats-only; ray status"}
	adviceEcho          = Advice{"Find the first CUDA error that this process printed: a later call only reports it again.", "grep -nE 'CUDA error|HIP error|Xid|Assertion.*failed' *{job}* | head"}
	adviceLateRank      = Advice{"Find the rank that never came: compare the last line of every rank.", "tail -n 1 *{job}*"}
	adviceCANN          = Advice{"Find the first EI, EJ or EZ code that this process printed: it names the reason.", "grep -nE 'E[EIJZ][0-9]{4}' *{job}* | head"}
	adviceNeuronDevice  = Advice{"Replace the instance of {root}: the memory of this Neuron device is damaged.", "ssh {node} 'neuron-ls; dmesg -T | grep -i neuron | tail -20'"}
	adviceAdapter       = Advice{"Leave {root} out, and have its network adapter and firmware looked at.", "ssh {node} 'ibstat; dmesg -T | grep -i mlx5 | tail -30'"}
	advicePortDown      = Advice{"Check the cable, the optic and the switch port of this link on {node}.", "ssh {node} 'ibstat; rdma link show; dmesg -T | grep -i mlx5 | tail -20'"}
	adviceMemlock       = Advice{"Lift the limit of locked memory: LimitMEMLOCK=infinity for the service that starts jobs, or --ulimit memlock=-1 for the container.", "srun -w {node} bash -c 'ulimit -l'"}
	adviceCheckSource   = Advice{"Search the library's issues for the source file and the condition in {line}, then update it.", ""}
	adviceFaultStack    = Advice{"Start at {frame}, where the Python stack at {line} crashed.", ""}
	adviceHandlerStack  = Advice{"Read the stack below {line}: the first frame after the signal handler names the library.", ""}
	adviceCrashStack    = Advice{"Let Python print its stack at the crash, and read the core dump.", "export PYTHONFAULTHANDLER=1; coredumpctl info {pid}"}
	adviceBus           = Advice{"See whether /dev/shm is full on {node}, or whether a mapped file was cut or replaced.", "ssh {node} 'df -h /dev/shm /tmp; dmesg -T | tail -20'"}
	adviceHeap          = Advice{"Run the step with the heap checked at every call: the stack then names the library that damages it.", "LD_PRELOAD=libc_malloc_debug.so.0 MALLOC_CHECK_=3 PYTHONFAULTHANDLER=1 python train.py"}
	adviceInterface     = Advice{"List the interfaces of {node}, and name one that every node has.", "ssh {node} ip -br addr; export NCCL_SOCKET_IFNAME=IF GLOO_SOCKET_IFNAME=IF"}
	advicePeerFirst     = Advice{"Look at the peer first: its process has ended, or never started, or a firewall blocks its ports.", "ssh {node} 'nc -zv PEER PORT'"}
	adviceTopology      = Advice{"Let NCCL write how it sees {node}, and compare that with a node that works.", "export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH NCCL_TOPO_DUMP_FILE=$PWD/topo.xml"}
	adviceWarnLine      = Advice{"Find the NCCL WARN line of the same process: it names the call that failed.", "grep -n 'NCCL WARN' *{job}* | head; export NCCL_DEBUG=WARN"}
	adviceRayWorker     = Advice{"Read the dead worker's own files in Ray's session folder, and the kernel's log.", "ssh {node} 'ls -t /tmp/ray/session_latest/logs/worker-* | head -4; dmesg -T | grep -i oom'"}
	adviceRayNode       = Advice{"Read what the lost node's kernel and its raylet say of that time.", "ssh {node} 'dmesg -T | tail -50; tail -50 /tmp/ray/session_latest/logs/raylet.out'"}
	adviceFirstError    = Advice{"Read the first error that the child process printed above {line}.", ""}
	adviceStoreHost     = Advice{"Look at the host of the store, as a rule rank 0's: its process ended or answers no more.", "grep -nE 'MASTER_ADDR|master_addr|rdzv' *{job}* | head"}
	adviceResolve       = Advice{"Resolve the master's name on {node}; where the name service lacks it, use its address.", "ssh {node} 'getent hosts MASTER_ADDR; cat /etc/resolv.conf'"}
	adviceNotJoined     = Advice{"Find the ranks that never joined: count the logs, and look for those without a first line.", "grep -c '' *{job}*"}
	adviceNCCLCall      = Advice{"Compare the ranks and the world size that each process passes with the tasks that were started.", "srun bash -c 'hostname; env | grep -E \"^(SLURM_(PROCID|NTASKS)|RANK|LOCAL_RANK|WORLD_SIZE)=\"'"}
	adviceHeartbeat     = Advice{"Read the log of the task that is named: find when and why its heartbeats stopped.", "grep -nE 'heartbeat|unhealthy|task:[0-9]+' *{job}* | head"}
	adviceGloo          = Advice{"Name for Gloo the interface by which all nodes reach each other.", "ip -br addr; export GLOO_SOCKET_IFNAME=IF"}
	adviceDriverOld     = Advice{"Use an image with an older CUDA, or have the driver of {root} updated.", "ssh {node} nvidia-smi --query-gpu=driver_version --format=csv"}
	adviceArch          = Advice{"Build the kernels for this GPU: compare its compute capability with the architectures of the build.", "python -c 'import torch; print(torch.cuda.get_device_capability(), torch.cuda.get_arch_list())'"}
	adviceCuDNN         = Advice{"Take the foreign cuDNN out of the library path, so that the program finds the one it was built with.", "echo $LD_LIBRARY_PATH; pip list | grep -i cudnn"}
	adviceSizes         = Advice{"Choose parallel and batch sizes whose product fits the number of GPUs that the job has.", "scontrol show job {job} | grep -E 'NumNodes|NumTasks|TRES'"}
	advicePort          = Advice{"Find what holds the port on the master's node, or take another port.", "ssh {node} ss -ltnp; export MASTER_PORT=29511"}
	adviceHydra         = Advice{"Print the composed configuration without running the job, and correct what it refuses.", "python train.py --cfg job --resolve"}
	adviceSavedModel    = Advice{"Compare the model's settings and parallel layout with those that the checkpoint was saved with.", ""}
	adviceShm           = Advice{"Enlarge /dev/shm of the container or node, or clear what an earlier run left in it.", "ssh {node} 'df -h /dev/shm; ls -la /dev/shm | head'"}
	adviceThreads       = Advice{"Start fewer threads in each process, then have the process limit of {root} raised.", "export OMP_NUM_THREADS=4 OPENBLAS_NUM_THREADS=4; ulimit -u; cat /sys/fs/cgroup/pids.max"}
	adviceMount         = Advice{"Ask from all nodes whether the mount answers: one silent node is its client, all are the server.", "clush -w {nodes} 'timeout 10 stat -f MOUNT || echo no answer'"}
	adviceSlowDown      = Advice{"Ask the store for less at a time: fewer loader workers, larger shards, and retries that back off.", ""}
	adviceCloud         = Advice{"Look at the provider's status for that time, then let the client retry for longer than the outage.", ""}
	adviceAWS           = Advice{"Check which identity the job has on its nodes, and what the bucket allows it.", "aws sts get-caller-identity; aws s3 ls s3://BUCKET"}
	adviceGoogle        = Advice{"Check which account the job has on its nodes, and what the bucket allows it.", "gcloud auth list; gsutil ls gs://BUCKET"}
	adviceHubOnce       = Advice{"Download the model and the data once into a shared cache, then run offline.", "hf download REPO; export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1"}
	adviceHubCache      = Advice{"Fill the cache that the job uses before it starts, from a machine that reaches the hub.", "hf download REPO; echo $HF_HOME"}
	adviceHubToken      = Advice{"Check the name on the hub, and log in with a token that may see it.", "hf auth whoami"}
	adviceHDFS          = Advice{"Ask the name node which data nodes live and how full they are.", "hdfs dfsadmin -report | head -40"}
	adviceCutShort      = Advice{"Resume from the checkpoint before this one: the file is damaged or was never finished.", "ls -lt CHECKPOINT_DIR"}
	adviceShortWrite    = Advice{"See whether the file system is full or the quota used up: a write was cut short.", "df -h CHECKPOINT_DIR; quota -s"}
	adviceContainer     = Advice{"Start the same image with the same mounts by hand, and read what the container's runtime says.", "srun -w {nodes} --container-image=IMAGE --container-mounts=MOUNTS true"}
	adviceImage         = Advice{"Decode the image by itself; if that fails, rewrite it or take it out.", "python -c 'import sys; from PIL import Image; Image.open(sys.argv[1]).load()' FILE"}
	adviceProbe         = Advice{"Probe the file by itself; if that fails, re-encode it or take it out.", "ffprobe -v error -show_streams FILE"}
	adviceJSON          = Advice{"Check every line of the file with a parser, and correct or drop the one that fails.", "jq -c . FILE > /dev/null"}
	adviceMegatronRerun = Advice{"Run the step again under Megatron's rerun checks: they tell bad data from a faulty GPU.", "python pretrain_gpt.py --rerun-mode validate_results …"}
	adviceGPUTwice      = Advice{"Test the GPU of rank {rank} on {node}: the same step gave two results.", "ssh {node} 'dcgmi diag -r 4'"}
	adviceScale         = Advice{"Train in bfloat16, or lower the learning rate: in fp16 the gradients overflowed at every step.", ""}
	adviceOutputs       = Advice{"Check the model's outputs before this call: fp16 overflow or a diverged step made them NaN.", ""}
	advicePrograms      = Advice{"Compare image, configuration and compiled program over all hosts: one of them differs.", "export XLA_FLAGS=--xla_dump_to=/tmp/xla"}
	adviceOrphanGPU     = Advice{"Look for a process left over on the GPU before anything in the job is changed.", "ssh {node} 'nvidia-smi --query-compute-apps=pid,used_memory,gpu_bus_id --format=csv'"}
	adviceManifest      = Advice{"Check the recordings against their manifest, and correct the lengths it states.", "lhotse validate MANIFEST"}
	adviceEndpoint      = Advice{"Test the endpoint from {node}, and look at the proxy settings there.", "ssh {node} 'env | grep -i proxy; curl -sSI -m 10 ENDPOINT_URL | head -1'"}
	adviceAISCluster    = Advice{"See whether AIStore's targets and proxies are up, and how loaded they are.", "ais show cluster; ais show performance"}
	adviceNaNSource     = Advice{"Find the operation that made the first NaN gradient: torch.autograd.set_detect_anomaly(True) names it.", ""}
)
