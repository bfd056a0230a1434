package knowledge

// ID names an entry: the wording of one kind of line, or a reading of it.
type ID string

// Entries that are named outside of themselves.
const (
	IDCollectiveUnpickle   ID = "collective-unpickle" // what another rank sent and this one could not read
	IDCUDAAssertLine       ID = "cuda-assert-line"
	IDCUDANaNCheck         ID = "cuda-nan-check"
	IDLoaderFileMissing    ID = "loader-file-missing" // a file that a data-loading process did not find
	IDMegascaleHost        ID = "megascale-host"
	IDNCCLConnectLast      ID = "nccl-connect-last"
	IDPeerDeepEPKernel     ID = "peer-deepep-kernel"
	IDSignalElasticClosing ID = "signal-elastic-closing"
	IDSlurmOOM             ID = "slurm-oom" // SLURM's records count such kills: no line has this id
	IDSlurmOutput          ID = "slurm-output"
)
