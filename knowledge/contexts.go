package knowledge

import "strings"

// Contexts that the frames of a traceback tell: what the process was doing when an exception was raised.
const (
	LoadingData       = "loading data"
	SavingCheckpoint  = "saving a checkpoint"
	LoadingCheckpoint = "loading a checkpoint"
	AskingStore       = "accessing a store"
	JoiningGroup      = "joining a group of processes"
)

// codeContext ties code to a context by a part of its file's path and, where given, of its function's name.
type codeContext struct {
	context  string
	path, fn string
}

// codeContexts, from the particular to the general. Sources: the packages' own trees (PyTorch 1.13 to 2.8, Megatron-LM,
// DeepSpeed, NeMo, Lightning, Transformers, Lhotse, WebDataset, datasets, Energon, Mosaic Streaming, JAX, Horovod, Paddle, MindSpore).
var codeContexts = []codeContext{
	{LoadingData, "torch/utils/data/", ""}, {LoadingData, "/lhotse/", ""}, {LoadingData, "/webdataset/", ""}, {LoadingData, "/torchdata/", ""},
	{LoadingData, "/datasets/arrow_dataset.py", ""}, {LoadingData, "/datasets/iterable_dataset.py", ""}, {LoadingData, "/energon/", ""},
	{LoadingData, "/streaming/base/", ""}, {LoadingData, "/nvidia/dali/", ""}, {LoadingData, "/wids/", ""}, {LoadingData, "dataset", ""}, {LoadingData, "data_loader", ""}, {LoadingData, "dataloader", ""},
	{LoadingData, "feeder", ""}, {LoadingData, "prefetch", ""}, {LoadingData, "collat", ""},
	{SavingCheckpoint, "torch/serialization.py", "save"}, {LoadingCheckpoint, "torch/serialization.py", "load"},
	{SavingCheckpoint, "torch/distributed/checkpoint/", "save"}, {SavingCheckpoint, "torch/distributed/checkpoint/", "write"}, {SavingCheckpoint, "torch/distributed/checkpoint/", "finish"},
	{LoadingCheckpoint, "torch/distributed/checkpoint/", "load"}, {LoadingCheckpoint, "torch/distributed/checkpoint/", "read"},
	{SavingCheckpoint, "dist_checkpointing/", "save"}, {LoadingCheckpoint, "dist_checkpointing/", "load"},
	{SavingCheckpoint, "checkpoint_engine", "save"}, {LoadingCheckpoint, "checkpoint_engine", "load"},
	{SavingCheckpoint, "safetensors/", "save"}, {LoadingCheckpoint, "safetensors/", "load"},
	{SavingCheckpoint, "", "save_checkpoint"}, {LoadingCheckpoint, "", "load_checkpoint"}, {SavingCheckpoint, "", "save_ckpt"}, {LoadingCheckpoint, "", "load_ckpt"},
	{SavingCheckpoint, "", "save_pretrained"}, {SavingCheckpoint, "", "_save_checkpoint"}, {LoadingCheckpoint, "", "_load_from_checkpoint"},
	{SavingCheckpoint, "", "save_to_checkpoint"}, {LoadingCheckpoint, "", "restore_from"},
	{JoiningGroup, "torch/distributed/distributed_c10d.py", "init_process_group"}, {JoiningGroup, "torch/distributed/distributed_c10d.py", "new_group"},
	{JoiningGroup, "torch/distributed/distributed_c10d.py", "_new_process_group_helper"}, {JoiningGroup, "torch/distributed/distributed_c10d.py", "_store_based_barrier"},
	{JoiningGroup, "torch/distributed/rendezvous.py", ""}, {JoiningGroup, "torch/distributed/elastic/rendezvous/", ""}, {JoiningGroup, "jax/_src/distributed.py", ""},
	{JoiningGroup, "horovod/common/basics.py", "init"}, {JoiningGroup, "paddle/distributed/parallel.py", "init_parallel_env"}, {JoiningGroup, "mindspore/communication/", "init"},
	{AskingStore, "/aistore/", ""}, {AskingStore, "/botocore/", ""}, {AskingStore, "/boto3/", ""}, {AskingStore, "/s3fs/", ""}, {AskingStore, "/gcsfs/", ""}, {AskingStore, "/fsspec/", ""},
	{AskingStore, "/huggingface_hub/", ""}, {AskingStore, "/smart_open/", ""}, {AskingStore, "/google/cloud/storage/", ""}, {AskingStore, "/pyarrow/", ""},
	{AskingStore, "/oss2/", ""}, {AskingStore, "/site-packages/tos/", ""}, {AskingStore, "/qcloud_cos/", ""}, {AskingStore, "/aiobotocore/", ""}, {AskingStore, "/azure/storage/", ""},
	{AskingStore, "/urllib3/", ""}, {AskingStore, "/requests/", ""}, {AskingStore, "/aiohttp/", ""}, {AskingStore, "/httpx/", ""},
}

// telemetry are packages that ask servers of their own, which hold no data of the job.
var telemetry = []string{"/wandb/", "/mlflow/", "/comet_ml/", "/neptune/", "/clearml/"}

// Telemetry says that a file of code belongs to a client of an experiment tracker.
func Telemetry(file string) bool {
	for _, t := range telemetry {
		if strings.Contains(file, t) {
			return true
		}
	}
	return false
}

// Context says what a frame of a traceback was about, or "".
func Context(file, fn string) string {
	for _, c := range codeContexts {
		if strings.Contains(file, c.path) && strings.Contains(fn, c.fn) {
			return c.context
		}
	}
	return ""
}
