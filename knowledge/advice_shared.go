package knowledge

// Advice that several entries share: what to do first is the same for each of their lines.
var (
	adviceLibraryRoom   = Advice{"Reduce the batch size until a few hundred MB stay free: this library allocates outside PyTorch's pool.", "ssh {node} nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv"}
	adviceAbsurd        = Advice{"Compare the size in {line} with the node's memory: an absurd size means a bug.", "ssh {node} free -g"}
	adviceRayMemory     = Advice{"Give each task a memory request (memory=…) so that Ray schedules fewer per node.", "ray memory --stats-only; ray status"}
	adviceEcho          = Advice{"Find the first CUDA error this process printed: later calls only report it again.", "grep -nE 'CUDA error|HIP error|Xid|Assertion.*failed' *{job}* | head"}
	adviceLateRank      = Advice{"Find the rank that never arrived: compare the last line from every rank.", "tail -n 1 *{job}*"}
	adviceCANN          = Advice{"Find the first EI, EJ or EZ code this process printed: it gives the reason.", "grep -nE 'E[EIJZ][0-9]{4}' *{job}* | head"}
	adviceNeuronDevice  = Advice{"Replace the {root} instance: this Neuron device has bad memory.", "ssh {node} 'neuron-ls; dmesg -T | grep -i neuron | tail -20'"}
	adviceAdapter       = Advice{"Exclude {root}, and have its network adapter and firmware checked.", "ssh {node} 'ibstat; dmesg -T | grep -i mlx5 | tail -30'"}
	advicePortDown      = Advice{"Check the cable, optic and switch port for this link on {node}.", "ssh {node} 'ibstat; rdma link show; dmesg -T | grep -i mlx5 | tail -20'"}
	adviceMemlock       = Advice{"Raise the locked-memory limit: LimitMEMLOCK=infinity for the service that starts jobs, or --ulimit memlock=-1 for the container.", "srun -w {node} bash -c 'ulimit -l'"}
	adviceCheckSource   = Advice{"Search the library's issues for the source file and condition in {line}, then upgrade.", ""}
	adviceFaultStack    = Advice{"Start at {frame}, where the Python stack at {line} crashed.", ""}
	adviceHandlerStack  = Advice{"Read the stack below {line}: the first frame after the signal handler shows the library.", ""}
	adviceCrashStack    = Advice{"Have Python print its stack on a crash, and read the core dump.", "export PYTHONFAULTHANDLER=1; coredumpctl info {pid}"}
	adviceBus           = Advice{"Check whether /dev/shm is full on {node}, or whether a mapped file was truncated or replaced.", "ssh {node} 'df -h /dev/shm /tmp; dmesg -T | tail -20'"}
	adviceHeap          = Advice{"Run the step with heap checking on: the stack then shows which library corrupts it.", "LD_PRELOAD=libc_malloc_debug.so.0 MALLOC_CHECK_=3 PYTHONFAULTHANDLER=1 python train.py"}
	adviceInterface     = Advice{"List the interfaces on {node}, and pick one that every node has.", "ssh {node} ip -br addr; export NCCL_SOCKET_IFNAME=IF GLOO_SOCKET_IFNAME=IF"}
	advicePeerFirst     = Advice{"Check the peer first: its process may have exited or never started, or a firewall may block its ports.", "ssh {node} 'nc -zv PEER PORT'"}
	adviceTopology      = Advice{"Have NCCL dump its view of {node}, and compare it with a working node's.", "export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH NCCL_TOPO_DUMP_FILE=$PWD/topo.xml"}
	adviceWarnLine      = Advice{"Find the NCCL WARN line of the same process: it shows the call that failed.", "grep -n 'NCCL WARN' *{job}* | head; export NCCL_DEBUG=WARN"}
	adviceRayWorker     = Advice{"Read the dead worker's own logs in Ray's session folder, and the kernel log.", "ssh {node} 'ls -t /tmp/ray/session_latest/logs/worker-* | head -4; dmesg -T | grep -i oom'"}
	adviceRayNode       = Advice{"Read the lost node's kernel and raylet logs from around that time.", "ssh {node} 'dmesg -T | tail -50; tail -50 /tmp/ray/session_latest/logs/raylet.out'"}
	adviceFirstError    = Advice{"Read the first error the child process printed above {line}.", ""}
	adviceStoreHost     = Advice{"Check the host running the store, usually rank 0's: its process may have exited or stopped responding.", "grep -nE 'MASTER_ADDR|master_addr|rdzv' *{job}* | head"}
	adviceResolve       = Advice{"Check that the master's name resolves on {node}; if it doesn't, use its IP address.", "ssh {node} 'getent hosts MASTER_ADDR; cat /etc/resolv.conf'"}
	adviceNotJoined     = Advice{"Find the ranks that never joined: count the logs, and look for empty ones.", "grep -c '' *{job}*"}
	adviceNCCLCall      = Advice{"Compare each process's rank and world size with the tasks that were started.", "srun bash -c 'hostname; env | grep -E \"^(SLURM_(PROCID|NTASKS)|RANK|LOCAL_RANK|WORLD_SIZE)=\"'"}
	adviceHeartbeat     = Advice{"Read that task's log to find when and why its heartbeats stopped.", "grep -nE 'heartbeat|unhealthy|task:[0-9]+' *{job}* | head"}
	adviceGloo          = Advice{"Set Gloo's interface to one through which all nodes can reach each other.", "ip -br addr; export GLOO_SOCKET_IFNAME=IF"}
	adviceDriverOld     = Advice{"Use an image with an older CUDA, or have the driver on {root} updated.", "ssh {node} nvidia-smi --query-gpu=driver_version --format=csv"}
	adviceArch          = Advice{"Rebuild the kernels for this GPU: compare its compute capability with the build's architectures.", "python -c 'import torch; print(torch.cuda.get_device_capability(), torch.cuda.get_arch_list())'"}
	adviceCuDNN         = Advice{"Remove the other cuDNN from the library path, so the program finds the one it was built with.", "echo $LD_LIBRARY_PATH; pip list | grep -i cudnn"}
	adviceSizes         = Advice{"Choose parallelism sizes whose product is the job's number of GPUs, and a global batch that divides evenly among them.", "scontrol show job {job} | grep -E 'NumNodes|NumTasks|TRES'"}
	advicePort          = Advice{"Find what is using the port on the master's node, or use another port.", "ssh {node} ss -ltnp; export MASTER_PORT=29511"}
	adviceHydra         = Advice{"Print the composed configuration without running the job, and fix what it rejects.", "python train.py --cfg job --resolve"}
	adviceSavedModel    = Advice{"Compare the model's settings and parallel layout with those the checkpoint was saved with.", ""}
	adviceShm           = Advice{"Enlarge /dev/shm on the container or node, or clear out what an earlier run left there.", "ssh {node} 'df -h /dev/shm; ls -la /dev/shm | head'"}
	adviceThreads       = Advice{"Start fewer threads per process, then have the process limit on {root} raised.", "export OMP_NUM_THREADS=4 OPENBLAS_NUM_THREADS=4; ulimit -u; cat /sys/fs/cgroup/pids.max"}
	adviceMount         = Advice{"Check from every node whether the mount responds: if one node hangs, suspect its client; if all do, the server.", "clush -w {nodes} 'timeout 10 stat -f MOUNT || echo no answer'"}
	adviceSlowDown      = Advice{"Reduce the load on the store: fewer loader workers, larger shards, and retries with backoff.", ""}
	adviceCloud         = Advice{"Check the provider's status page for that time, then let the client retry for longer than the outage.", ""}
	adviceAWS           = Advice{"Check which identity the job uses on its nodes, and what that identity may do in the bucket.", "aws sts get-caller-identity; aws s3 ls s3://BUCKET"}
	adviceGoogle        = Advice{"Check which account the job uses on its nodes, and what that account may do in the bucket.", "gcloud auth list; gsutil ls gs://BUCKET"}
	adviceHubOnce       = Advice{"Download the model and the data once into a shared cache, then run offline.", "hf download REPO; export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1"}
	adviceHubCache      = Advice{"Fill the job's cache before it starts, from a machine that can reach the hub.", "hf download REPO; echo $HF_HOME"}
	adviceHubToken      = Advice{"Check the name on the hub, and log in with a token that has access to it.", "hf auth whoami"}
	adviceHDFS          = Advice{"Ask the NameNode which DataNodes are live and how full they are.", "hdfs dfsadmin -report | head -40"}
	adviceCutShort      = Advice{"Resume from the checkpoint before this one: the file is damaged or was never finished.", "ls -lt CHECKPOINT_DIR"}
	adviceShortWrite    = Advice{"Check whether the file system is full or over quota: a write was cut short.", "df -h CHECKPOINT_DIR; quota -s"}
	adviceContainer     = Advice{"Start the same image with the same mounts by hand, and read the container runtime's error.", "srun -w {nodes} --container-image=IMAGE --container-mounts=MOUNTS true"}
	adviceImage         = Advice{"Decode the image on its own; if that fails, re-encode it or remove it.", "python -c 'import sys; from PIL import Image; Image.open(sys.argv[1]).load()' FILE"}
	adviceProbe         = Advice{"Probe the file on its own; if that fails, re-encode it or remove it.", "ffprobe -v error -show_streams FILE"}
	adviceJSON          = Advice{"Run every line of the file through a parser, and fix or drop the one that fails.", "jq -c . FILE > /dev/null"}
	adviceMegatronRerun = Advice{"Rerun the step with Megatron's rerun checks: they distinguish bad data from a faulty GPU.", "python pretrain_gpt.py --rerun-mode validate_results …"}
	adviceGPUTwice      = Advice{"Test rank {rank}'s GPU on {node}: the same step gave two different results.", "ssh {node} 'dcgmi diag -r 4'"}
	adviceScale         = Advice{"Train in bfloat16, or lower the learning rate: in fp16, gradients overflowed at every step.", ""}
	adviceOutputs       = Advice{"Check the model's outputs before this call: fp16 overflow or a diverged step made them NaN.", ""}
	advicePrograms      = Advice{"Compare the image, configuration and compiled program across all hosts: one of them differs.", "export XLA_FLAGS=--xla_dump_to=/tmp/xla"}
	adviceOrphanGPU     = Advice{"Look for a leftover process on the GPU before changing anything in the job.", "ssh {node} 'nvidia-smi --query-compute-apps=pid,used_memory,gpu_bus_id --format=csv'"}
	adviceManifest      = Advice{"Check the recordings against their manifest, and correct the lengths in it.", "lhotse validate MANIFEST"}
	adviceEndpoint      = Advice{"Test the endpoint from {node}, and check the proxy settings there.", "ssh {node} 'env | grep -i proxy; curl -sSI -m 10 ENDPOINT_URL | head -1'"}
	adviceAISCluster    = Advice{"Check whether AIStore's targets and proxies are up, and how loaded they are.", "ais show cluster; ais show performance"}
	adviceNaNSource     = Advice{"Find the operation that produced the first NaN gradient with torch.autograd.set_detect_anomaly(True).", ""}
)

// FindOnset is what to do about a slowdown of which no line tells when it began.
func FindOnset() Advice {
	return Advice{"Find out when it began and what changed then: a checkpoint, an evaluation, a new node, a neighboring job.", "sacct -a -X -S now-1day -E now -N {nodes} -o JobID,Start,End,NodeList"}
}

// FindFull is what to do first where a write found no room.
func FindFull() Advice {
	return Advice{"Find out which file system is full.", "ssh {node} 'df -h; df -i'; quota -s; lfs quota -h -u $USER ."}
}
