package knowledge

const (
	deviceMesh = "PyTorch torch/distributed/device_mesh.py"
	dtensorAPI = "PyTorch torch/distributed/tensor"
)

// meshMessages are those of device meshes and of DTensor.
var meshMessages = []Message{
	{
		ID: "mesh-too-big", Literals: []string{"Mesh should not be bigger than default world size"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The device mesh has more places than the job has ranks.",
		Cause:   "The parallel degrees multiply to more than the world size, or fewer processes were started than planned (one node instead of several, or no launcher at all).",
		Check:   "Multiply the sizes of the mesh and compare with what each process was told.\nprintenv WORLD_SIZE RANK LOCAL_RANK SLURM_NTASKS",
		Source:  deviceMesh + ", 2.0 on", Example: "RuntimeError: Mesh should not be bigger than default world size 8, but found 16 ranks!",
	},
	{
		ID: "mesh-duplicate", Literals: []string{"DeviceMesh cannot have duplicate values"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The same rank stands more than once in a device mesh.",
		Cause:   "The list of ranks was written by hand, or computed with a wrong stride.",
		Check:   "Let init_device_mesh number the ranks, or print the list that is handed to DeviceMesh.",
		Source:  deviceMesh + ", 2.0 to 2.2", Example: "RuntimeError: DeviceMesh cannot have duplicate values, but found [0, 0]",
	},
	{
		ID: "mesh-homogeneous", Literals: []string{"DeviceMesh only support homogeneous hardware"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The number of ranks is not a multiple of the GPUs that a node shows.",
		Cause:   "Nodes with different numbers of GPUs, or CUDA_VISIBLE_DEVICES that shows more than the job uses.",
		Check:   "Does every node show the same number of GPUs to every process? Or choose the GPU before the mesh is made (torch.cuda.set_device).\nsrun bash -c 'hostname; nvidia-smi -L | wc -l; printenv CUDA_VISIBLE_DEVICES'",
		Source:  deviceMesh + ", 2.1 on", Example: "RuntimeError: DeviceMesh only support homogeneous hardware, but found 6 ranks and 4 cuda devices!",
	},
	{
		ID: "mesh-names", Literals: []string{"mesh_shape and mesh_dim_names should have same length"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A device mesh was given more or fewer names than dimensions.",
		Cause:   "A parallel dimension was switched off in the settings, but its name was kept.",
		Check:   "The call of init_device_mesh: one name for each number of mesh_shape.",
		Source:  deviceMesh + ", 2.2 on", Example: "RuntimeError: ('mesh_shape and mesh_dim_names should have same length!', 'Found len(mesh_dim_names): 1 and len(mesh_shape):2.')",
	},
	{
		ID: "mesh-name-unknown", Literals: []string{"Invalid mesh_dim_name", " specified. ", "alid mesh_dim_names"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A part of the device mesh was asked for by a name that the mesh does not have.",
		Cause:   "The dimension has size 1 in this configuration and was left out, or framework and PyTorch name it differently.",
		Check:   "The line lists the names that exist; print the mesh on one rank and compare versions of framework and PyTorch.",
		Source:  deviceMesh + ", 2.2 on", Example: "KeyError: \"Invalid mesh_dim_names ('dp_shard_cp',) specified. Valid mesh_dim_names are ['tp'].\"",
	},
	{
		ID: "dtensor-mixed", Literals: []string{"got mixed torch.Tensor and DTensor"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "One operation got a distributed tensor together with an ordinary one.",
		Cause:   "A parameter or buffer that was not parallelised with the rest, a tensor that the code makes itself (mask, scale), or an optimiser or kernel that knows no DTensor.",
		Check:   "The operation before the colon, and the type of each of its arguments: bring them together by distribute_tensor(…, [Replicate()]), or use to_local() or full_tensor().",
		Collect: []string{"TORCH_SHOW_CPP_STACKTRACES=1"},
		Source:  dtensorAPI + "/_dispatch.py, 2.0 on", Example: "RuntimeError: aten.mm.default: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!",
	},
	{
		ID: "dtensor-no-strategy", Literals: []string{"does not have a sharding strategy registered"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "DTensor does not know how to compute this operation on a sharded tensor.",
		Cause:   "The operation is not supported in this version of PyTorch.",
		Check:   "Try a newer PyTorch; else compute this step on to_local(), or register a strategy for the operation that is named.",
		Source:  dtensorAPI + "/_sharding_prop.py, 2.0 on", Example: "NotImplementedError: Operator aten.unbind.int does not have a sharding strategy registered.",
	},
	{
		ID: "dtensor-propagation", Literals: []string{"Sharding propagation failed for"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "DTensor could not work out how the result of this operation is sharded.",
		Cause:   "Shapes that do not fit after a dimension was split: heads or vocabulary not divisible by the parallel degree, or a view with the global number of heads on a local tensor.",
		Check:   "The sentence above this line says what did not fit; the specs in it show shape and placement of each argument: S(1) is sharded on dimension 1, R replicated.",
		Source:  dtensorAPI + "/_dispatch.py, 2.2 on", Example: "Sharding propagation failed for aten.mm.default(Spec(f32[16, 64](R)), Spec(f32[128, 8](S(1))))",
	},
	{
		ID: "dtensor-cross-mesh", Literals: []string{"DTensor does not support cross-mesh operation"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "One operation got distributed tensors of different device meshes.",
		Cause:   "Parameters under different parallelisms meet in one call: mostly the norm of all gradients, or an optimiser that works on many tensors at once.",
		Check:   "Do it for each mesh by itself (clip_grad_norm_ of the framework, foreach=False), or make both parts of one mesh.",
		Source:  dtensorAPI + "/_dispatch.py, 2.2 on", Example: "NotImplementedError: aten._foreach_add_.List: DTensor does not support cross-mesh operation yet!",
	},
	{
		ID: "dtensor-placements", Literals: []string{"`placements` must have the same length as `device_mesh.ndim`"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The number of placements is not the number of dimensions of the mesh.",
		Cause:   "A mesh of two dimensions where the code was written for one, or the whole mesh instead of a part of it.",
		Check:   "One placement for each dimension of the mesh, or hand over the part that is meant: mesh[\"tp\"].",
		Source:  dtensorAPI + "/_api.py, 2.0 on", Example: "ValueError: `placements` must have the same length as `device_mesh.ndim`! Found placements length: 1, and device_mesh.ndim: 2.",
	},
	{
		ID: "dtensor-to-partial", Literals: []string{"Can not redistribute to Partial"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A tensor was to become a sum that is not yet formed, which only DTensor itself may ask for.",
		Cause:   "Partial() among the placements of redistribute().",
		Check:   "Ask for Replicate() or Shard(dim) instead.",
		Source:  dtensorAPI + "/_api.py, 2.0 on", Example: "RuntimeError: Can not redistribute to Partial, redistributing to Partial is for internal use only!",
	},
	{
		ID: "dtensor-in-place", Literals: []string{"in-place operations that require placement changes"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "An operation that writes into its argument would have to change how that tensor is sharded.",
		Cause:   "Adding tensors with different placements in place (add_, pow_), mostly in an optimiser or in clipping.",
		Check:   "The two placements in the line: redistribute one first, or use the form that makes a new tensor.",
		Source:  dtensorAPI + ", 2.6 on", Example: "RuntimeError: aten.pow_.Scalar: in-place operations that require placement changes are not supported.",
	},
}
