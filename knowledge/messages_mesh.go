package knowledge

const (
	deviceMesh = "PyTorch torch/distributed/device_mesh.py"
	dtensorAPI = "PyTorch torch/distributed/tensor"
)

// meshMessages are those of device meshes and of DTensor.
var meshMessages = []Message{
	{
		ID: "mesh-too-big", Literals: []string{"Mesh should not be bigger than default world size"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The device mesh is larger than the job's number of ranks.",
		Cause:   "The product of the parallel degrees exceeds the world size, or too few processes were started (one node instead of several, or no launcher at all).",
		Check:   "Multiply the mesh sizes and compare the product with each process's environment.\nprintenv WORLD_SIZE RANK LOCAL_RANK SLURM_NTASKS",
		Source:  deviceMesh + ", 2.0 and later", Example: "RuntimeError: Mesh should not be bigger than default world size 8, but found 16 ranks!",
	},
	{
		ID: "mesh-duplicate", Literals: []string{"DeviceMesh cannot have duplicate values"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The same rank appears more than once in a device mesh.",
		Cause:   "The list of ranks was written by hand, or computed with a wrong stride.",
		Check:   "Let init_device_mesh number the ranks, or print the list passed to DeviceMesh.",
		Source:  deviceMesh + ", 2.0 to 2.2", Example: "RuntimeError: DeviceMesh cannot have duplicate values, but found [0, 0]",
	},
	{
		ID: "mesh-homogeneous", Literals: []string{"DeviceMesh only support homogeneous hardware"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The number of ranks isn't a multiple of the number of GPUs per node.",
		Cause:   "The nodes have different numbers of GPUs, or CUDA_VISIBLE_DEVICES exposes more than the job uses.",
		Check:   "Check that every process sees the same number of GPUs, or choose the GPU before creating the mesh (torch.cuda.set_device).\nsrun bash -c 'hostname; nvidia-smi -L | wc -l; printenv CUDA_VISIBLE_DEVICES'",
		Source:  deviceMesh + ", 2.1 and later", Example: "RuntimeError: DeviceMesh only support homogeneous hardware, but found 6 ranks and 4 cuda devices!",
	},
	{
		ID: "mesh-names", Literals: []string{"mesh_shape and mesh_dim_names should have same length"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A device mesh got more or fewer names than dimensions.",
		Cause:   "A parallel dimension was switched off in the configuration, but its name was kept.",
		Check:   "Fix the init_device_mesh call: one name for each entry in mesh_shape.",
		Source:  deviceMesh + ", 2.2 and later", Example: "RuntimeError: ('mesh_shape and mesh_dim_names should have same length!', 'Found len(mesh_dim_names): 1 and len(mesh_shape):2.')",
	},
	{
		ID: "mesh-name-unknown", Literals: []string{"Invalid mesh_dim_name", " specified. ", "alid mesh_dim_names"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A submesh was requested by a name that the device mesh doesn't have.",
		Cause:   "The dimension has size 1 in this configuration and was left out, or the framework and PyTorch name it differently.",
		Check:   "See the names listed in the line, print the mesh on one rank, and compare the framework and PyTorch versions.",
		Source:  deviceMesh + ", 2.2 and later", Example: "KeyError: \"Invalid mesh_dim_names ('dp_shard_cp',) specified. Valid mesh_dim_names are ['tp'].\"",
	},
	{
		ID: "dtensor-mixed", Literals: []string{"got mixed torch.Tensor and DTensor"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "One operation got both a distributed tensor and a plain one.",
		Cause:   "A parameter or buffer wasn't parallelized with the rest, the code creates a plain tensor (mask, scale), or an optimizer or kernel doesn't support DTensor.",
		Check:   "See the operation before the colon and the type of each argument. Convert with distribute_tensor(…, [Replicate()]), to_local() or full_tensor().",
		Collect: []string{"TORCH_SHOW_CPP_STACKTRACES=1"},
		Source:  dtensorAPI + "/_dispatch.py, 2.0 and later", Example: "RuntimeError: aten.mm.default: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!",
	},
	{
		ID: "dtensor-no-strategy", Literals: []string{"does not have a sharding strategy registered"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "DTensor has no sharding rule for this operation.",
		Cause:   "This version of PyTorch doesn't support the operation on sharded tensors.",
		Check:   "Try a newer PyTorch. Otherwise compute this part on to_local(), or register a sharding strategy for the named operation.",
		Source:  dtensorAPI + "/_sharding_prop.py, 2.0 and later", Example: "NotImplementedError: Operator aten.unbind.int does not have a sharding strategy registered.",
	},
	{
		ID: "dtensor-propagation", Literals: []string{"Sharding propagation failed for"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "DTensor couldn't work out how the result of this operation is sharded.",
		Cause:   "Shapes no longer match after a dimension was split: heads or vocabulary not divisible by the parallel degree, or a local tensor viewed with the global number of heads.",
		Check:   "Read the sentence above this line for what didn't match. Its specs show each argument's shape and placement: S(1) is sharded on dimension 1, R is replicated.",
		Source:  dtensorAPI + "/_dispatch.py, 2.2 and later", Example: "Sharding propagation failed for aten.mm.default(Spec(f32[16, 64](R)), Spec(f32[128, 8](S(1))))",
	},
	{
		ID: "dtensor-cross-mesh", Literals: []string{"DTensor does not support cross-mesh operation"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "One operation got distributed tensors from different device meshes.",
		Cause:   "One call mixes parameters with different parallelism: usually the global gradient norm, or an optimizer that updates many tensors at once.",
		Check:   "Handle each mesh separately (the framework's clip_grad_norm_, foreach=False), or make both parts of one mesh.",
		Source:  dtensorAPI + "/_dispatch.py, 2.2 and later", Example: "NotImplementedError: aten._foreach_add_.List: DTensor does not support cross-mesh operation yet!",
	},
	{
		ID: "dtensor-placements", Literals: []string{"`placements` must have the same length as `device_mesh.ndim`"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The number of placements doesn't match the number of mesh dimensions.",
		Cause:   "The code was written for a 1-D mesh and got a 2-D one, or got the whole mesh instead of a submesh.",
		Check:   "Give one placement per mesh dimension, or pass the intended submesh: mesh[\"tp\"].",
		Source:  dtensorAPI + "/_api.py, 2.0 and later", Example: "ValueError: `placements` must have the same length as `device_mesh.ndim`! Found placements length: 1, and device_mesh.ndim: 2.",
	},
	{
		ID: "dtensor-to-partial", Literals: []string{"Can not redistribute to Partial"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "Code tried to redistribute a tensor to Partial (a pending sum), which only DTensor itself may do.",
		Cause:   "redistribute() was called with Partial() among its placements.",
		Check:   "Ask for Replicate() or Shard(dim) instead.",
		Source:  dtensorAPI + "/_api.py, 2.0 and later", Example: "RuntimeError: Can not redistribute to Partial, redistributing to Partial is for internal use only!",
	},
	{
		ID: "dtensor-in-place", Literals: []string{"in-place operations that require placement changes"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "An in-place operation would have to change how its tensor is sharded.",
		Cause:   "An in-place operation (add_, pow_) on tensors with different placements, usually in an optimizer or in gradient clipping.",
		Check:   "Compare the two placements in the line. Redistribute one first, or use the out-of-place version.",
		Source:  dtensorAPI + ", 2.6 and later", Example: "RuntimeError: aten.pow_.Scalar: in-place operations that require placement changes are not supported.",
	},
}
