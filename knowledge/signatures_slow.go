package knowledge

// slowSignatures are lines of healthy jobs as well. Where steps slowed down when they appeared, or came more often, they say why.
var slowSignatures = []Signature{
	{
		ID: "dynamo-recompile-limit", Mechanism: SlowCompute, Role: InfoRole, Says: SlowsSteps,
		Literals: []string{"torch._dynamo hit config."}, Pattern: `torch\._dynamo hit config\.(?:recompile_limit|accumulated_recompile_limit|cache_size_limit|accumulated_cache_size_limit)`,
		Meaning: "torch.compile gave up on a function after too many recompilations and runs it uncompiled from here on.",
		Source:  "PyTorch torch/_dynamo/convert_frame.py",
		Example: "torch._dynamo hit config.recompile_limit (8)",
	},
	{
		ID: "dynamo-recompiles", Mechanism: SlowCompute, Role: InfoRole, Says: SlowsSteps,
		Literals: []string{"[__recompiles] Recompiling function "},
		Meaning:  "torch.compile compiles a function again because a guard failed, often a new shape.",
		Source:   "PyTorch torch/_dynamo/guards.py",
		Example:  "[__recompiles] Recompiling function forward in /opt/model.py:381",
	},
	{
		ID: "jax-compiles", Mechanism: SlowCompute, Role: InfoRole, Says: SlowsSteps,
		Literals: []string{"Finished XLA compilation of "}, Pattern: `Finished XLA compilation of .{1,120} in [\d.]+ s`,
		Meaning: "XLA compiled a function. After the first steps this means that a shape or a type changed.",
		Source:  "JAX jax/_src/dispatch.py (jax_log_compiles)",
		Example: "Finished XLA compilation of jit(train_step) in 41.2 sec",
	},
	{
		ID: "jax-compiling", Mechanism: SlowCompute, Role: InfoRole, Says: SlowsSteps,
		Literals: []string{"Compiling ", " with global shapes and types "},
		Meaning:  "XLA compiles a function for these shapes. After the first steps this means that a shape or a type changed.",
		Source:   "JAX jax/_src/interpreters/pxla.py (jax_log_compiles)",
		Example:  "Compiling jit(train_step) with global shapes and types [ShapedArray(int32[8,4096])]",
	},
	{
		ID: "allocator-flushes", Mechanism: SlowCompute, Role: InfoRole, Says: SlowsSteps,
		Literals: []string{"pytorch allocator cache flushes since last step"},
		Meaning:  "PyTorch's allocator emptied its cache because GPU memory was short or fragmented, which stalls the step.",
		Source:   "DeepSpeed deepspeed/runtime/zero/stage3.py",
		Example:  "2 pytorch allocator cache flushes since last step. this happens when there is high memory pressure",
	},
}
