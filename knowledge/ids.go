package knowledge

// ID names an entry: the wording of one kind of line, or a reading of it.
type ID string

// Entries that are named outside of themselves.
const (
	IDCollectiveUnpickle       ID = "collective-unpickle" // what another rank sent and this one could not read
	IDCUDAAssertLine           ID = "cuda-assert-line"
	IDCUDANaNCheck             ID = "cuda-nan-check"
	IDGPUNVLSBind              ID = "gpu-nvls-bind"
	IDGPUOOMDriver             ID = "gpu-oom-driver" // the driver's own refusal, outside PyTorch's allocator
	IDIBCompletion             ID = "ib-completion"
	IDInitRendezvousClosed     ID = "init-rendezvous-closed"
	IDInitRendezvousConnection ID = "init-rendezvous-connection"
	IDLoaderFileMissing        ID = "loader-file-missing" // a file that a data-loading process did not find
	IDLoaderWorkerBus          ID = "loader-worker-bus"
	IDMegascaleHost            ID = "megascale-host"
	IDNCCLConnectLast          ID = "nccl-connect-last"
	IDNCCLMessageTruncated     ID = "nccl-message-truncated"
	IDPeerDeepEPKernel         ID = "peer-deepep-kernel"
	IDPeerMPIProcessPID        ID = "peer-mpi-process-pid"
	IDPeerNCCLClosed           ID = "peer-nccl-closed" // names the host to which NCCL lost its connection
	IDPeerNCCLSystem           ID = "peer-nccl-system" // what PyTorch makes of any call into the system that NCCL could not do
	IDRayNodeDead              ID = "ray-node-dead"
	IDRecorderWritten          ID = "recorder-written"
	IDRerunPersistent          ID = "rerun-persistent"
	IDSignalElasticClosing     ID = "signal-elastic-closing"
	IDSignalElasticException   ID = "signal-elastic-exception"
	IDSignalKeyboard           ID = "signal-keyboard"
	IDSignalKeyboardCaught     ID = "signal-keyboard-caught"
	IDSignalSrunInterrupt      ID = "signal-srun-interrupt"
	IDSlurmChdir               ID = "slurm-chdir"
	IDSlurmExecve              ID = "slurm-execve"
	IDSlurmFirstExit           ID = "slurm-first-exit"
	IDSlurmIO                  ID = "slurm-io"
	IDSlurmOOM                 ID = "slurm-oom" // SLURM's records count such kills: no line has this id
	IDSlurmOutput              ID = "slurm-output"
	IDStorageNFS               ID = "storage-nfs"
	IDStorageNFSAgain          ID = "storage-nfs-again"
	IDStorageReadOnly          ID = "storage-read-only"
	IDTeardownCalledProcess    ID = "teardown-called-process"
)
