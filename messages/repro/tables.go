package repro

import "faultline/pattern"

// operation is one call of torch.distributed: how watchdogs and fingerprints name it, and what stands in the script.
type operation struct {
	Func string // name in the script, which is torch.distributed's
	Body string // n elements of dtype on device, in group, whose global ranks are ranks
	// gloo is the operation that stands for it where Gloo has it not in every version of 1.13 to 2.x; "" = itself.
	gloo string
}

// operations are by the names of c10d's opTypeToString (c10d/Types.hpp, 1.13 to 2.10). What is not here never reaches a script.
var operations = map[string]operation{
	"ALLREDUCE": {Func: "all_reduce", Body: `dist.all_reduce(ones(n, dtype, device), group=group)`},
	"BROADCAST": {Func: "broadcast", Body: `dist.broadcast(ones(n, dtype, device), ranks[0], group=group)`},
	"REDUCE":    {Func: "reduce", Body: `dist.reduce(ones(n, dtype, device), ranks[0], group=group)`},
	"ALLGATHER": {Func: "all_gather", Body: `parts = [ones(n, dtype, device) for _ in ranks]
    dist.all_gather(parts, ones(n, dtype, device), group=group)`},
	"_ALLGATHER_BASE": {Func: "all_gather_into_tensor", gloo: "ALLGATHER",
		Body: `dist.all_gather_into_tensor(ones(n * len(ranks), dtype, device), ones(n, dtype, device), group=group)`},
	"REDUCE_SCATTER": {Func: "reduce_scatter", gloo: "REDUCE", Body: `parts = [ones(n, dtype, device) for _ in ranks]
    dist.reduce_scatter(ones(n, dtype, device), parts, group=group)`},
	"_REDUCE_SCATTER_BASE": {Func: "reduce_scatter_tensor", gloo: "REDUCE",
		Body: `dist.reduce_scatter_tensor(ones(n, dtype, device), ones(n * len(ranks), dtype, device), group=group)`},
	"ALLTOALL": {Func: "all_to_all", gloo: "ALLTOALL_BASE", Body: `parts = [ones(n, dtype, device) for _ in ranks]
    dist.all_to_all([ones(n, dtype, device) for _ in ranks], parts, group=group)`},
	"ALLTOALL_BASE": {Func: "all_to_all_single",
		Body: `dist.all_to_all_single(ones(n * len(ranks), dtype, device), ones(n * len(ranks), dtype, device), group=group)`},
	"GATHER": {Func: "gather", Body: `parts = [ones(n, dtype, device) for _ in ranks] if dist.get_rank() == ranks[0] else None
    dist.gather(ones(n, dtype, device), parts, dst=ranks[0], group=group)`},
	"SCATTER": {Func: "scatter", Body: `parts = [ones(n, dtype, device) for _ in ranks] if dist.get_rank() == ranks[0] else None
    dist.scatter(ones(n, dtype, device), parts, src=ranks[0], group=group)`},
	"BARRIER": {Func: "barrier", Body: `dist.barrier(group=group)`},
	"SEND":    {Func: "exchange", Body: exchange},
	"RECV":    {Func: "exchange", Body: exchange},
}

// exchange is both ends of a send: neighbours in pairs.
const exchange = `at = ranks.index(dist.get_rank())
    if at % 2 == 1:
        dist.recv(ones(n, dtype, device), ranks[at - 1], group=group)
    elif at + 1 < len(ranks):
        dist.send(ones(n, dtype, device), ranks[at + 1], group=group)`

// dtypes are PyTorch's names of scalar types (c10/core/ScalarType.h), as fingerprints and flight recorders print them.
var dtypes = map[string]string{
	"Float": "float32", "Half": "float16", "BFloat16": "bfloat16", "Double": "float64",
	"Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool",
}

// name is what a node can be called in a command to paste.
var name = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
