package knowledge

// numericSignatures: the numbers went wrong.
var numericSignatures = []Signature{
	{
		ID: "nan-megatron-grad", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true, Own: true,
		Literals: []string{"found NaN in local "}, Not: []string{"Unexpected result "},
		Pattern: `(?:Rank (?P<rank>\d{1,7}): )?found NaN in local (?P<what>[\w ]+)(?:.*?, node: (?P<node>[\w.-]+))?`,
		Meaning: "Megatron's check found a value that is not a number and stopped.",
		Source:  "Megatron-LM core/distributed (param_and_grad_buffer.py, pretrain_gpt.py), 0.5 to 0.9",
		Example: "AssertionError: Rank 3: found NaN in local grad norm in backward pass before data-parallel communication collective. Device: 3, node: node-2",
	},
	{
		ID: "nan-megatron-result", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true, Own: true,
		Literals: []string{"Unexpected result ", "(message='found "},
		Pattern:  `(?:Rank (?P<rank>\d{1,7})(?:, node (?P<node>[\w.-]+), device \d+|: ).*?)?Unexpected result (?P<value>\S+)(?: on rank (?P<rank2>\d{1,7}))?`,
		Meaning:  "Megatron's check found a value that is not finite and stopped.",
		Source:   "Megatron-LM core/rerun_state_machine.py, 0.10 on",
		Example:  "RuntimeError: Rank 13, node node-2, device 5, iteration 1093: Unexpected result nan (message='found NaN in local forward loss calculation')",
	},
	{
		ID: "rerun-transient", Mechanism: "silent-corruption", Role: CauseRole, Tier: LoopCrash, Own: true,
		Literals: []string{"Possible transient error!"}, Pattern: `Rank (?P<rank>\d{1,7}), node (?P<node>[\w.-]+), device \d+, iteration #`,
		Meaning: "Megatron computed a step again on the same GPU, and the result was another one.",
		Source:  "Megatron-LM core/rerun_state_machine.py, 0.10 on",
		Example: "ERROR:megatron.core.rerun_state_machine:Rank 5, node node-2, device 5, iteration #1093: Possible transient error!!",
	},
	{
		// The line names the GPU that computed it again, not the one that was wrong.
		ID: "rerun-persistent", Mechanism: "silent-corruption", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"Possible persistent error!"}, Pattern: `Rank (?P<rank>\d{1,7}), node (?P<node>[\w.-]+), device \d+, iteration #`,
		Meaning: "Megatron computed a step again on another GPU, and the result that was reproducible before is not there: the GPU of the run before computes wrongly.",
		Source:  "Megatron-LM core/rerun_state_machine.py, 0.10 on",
		Example: "ERROR:megatron.core.rerun_state_machine:Rank 5, node node-7, device 5, iteration #1093: Possible persistent error!!",
	},
	{
		ID: "nan-deepspeed-scale", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"Current loss scale already at minimum"},
		Meaning:  "Gradients overflowed so often that DeepSpeed cannot scale the loss any lower.",
		Source:   "DeepSpeed deepspeed/runtime/fp16/loss_scaler.py",
		Example:  "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
	},
	{
		ID: "nan-fairseq-scale", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"Minimum loss scale reached"},
		Meaning:  "Gradients overflowed so often that the loss cannot be scaled any lower.",
		Source:   "fairseq fairseq/optim/dynamic_loss_scaler.py",
		Example:  "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.",
	},
	{
		ID: "nan-stopping", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"Loss is ", ", stopping training"}, Pattern: `Loss is (?P<value>-?(?:nan|inf)), stopping training`,
		Meaning: "The loss is not finite and the program stopped itself.",
		Source:  "torchvision references and many scripts after it",
		Example: "Loss is nan, stopping training",
	},
	{
		ID: "nan-raised-loss", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"oss is "}, Not: []string{", stopping training"}, Pattern: `(?:Error|Exception): .*\b[Ll]oss is (?P<value>(?i:nan|-?inf(?:inite|inity)?|not finite|non-finite))\b`,
		Meaning: "The loss is not finite, and the program raised an error because of it.",
		Source:  "checks in training scripts of all kinds",
		Example: "ValueError: loss is nan at step 1380",
	},
	{
		ID: "nan-raised-became", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"oss became infinite or NaN"},
		Meaning:  "The loss is not finite, and the program raised an error because of it.",
		Source:   "Detectron2 detectron2/engine/train_loop.py; fvcore",
		Example:  "FloatingPointError: Loss became infinite or NaN at iteration=1234!",
	},
	{
		ID: "nan-raised-gradient", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"gradients are Nan/Inf"},
		Meaning:  "The norm of the gradients is not finite, and the program stopped itself.",
		Source:   "fairseq and metaseq, trainer.py",
		Example:  "FloatingPointError: gradients are Nan/Inf",
	},
	{
		ID: "nan-probabilities", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"probability tensor contains either `inf`, `nan` or element < 0"},
		Meaning:  "The model's outputs are not finite any more, so that nothing can be sampled from them.",
		Source:   "PyTorch aten/src/ATen/native/Distributions.cpp, torch.multinomial",
		Example:  "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
	},
	{
		// Every number is real but one that is none.
		ID: "nan-parameter", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"to satisfy the constraint "}, Pattern: `Expected (?:parameter|value) .{1,240}to satisfy the constraint (?:IndependentConstraint\()?Real\(\)`,
		Meaning: "A distribution was given values that are not numbers: the model's outputs or weights are NaN.",
		Source:  "PyTorch torch/distributions/distribution.py, 1.8 on",
		Example: "ValueError: Expected parameter loc (Tensor of shape (4, 8)) of distribution Normal(loc: torch.Size([4, 8]), scale: torch.Size([4, 8])) to satisfy the constraint Real(), but found invalid values:",
	},
	{
		ID: "nan-anomaly", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"returned nan values in its "}, Pattern: `Function '(?P<function>\w+)' returned nan`,
		Meaning: "PyTorch's anomaly detection found the operation that made the first NaN gradient.",
		Source:  "PyTorch torch/csrc/autograd/engine.cpp",
		Example: "RuntimeError: Function 'LogSoftmaxBackward0' returned nan values in its 0th output.",
	},
	{
		ID: "nan-jax", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"FloatingPointError: invalid value ("}, Pattern: `invalid value \((?P<value>nan|inf)\) encountered in`,
		Meaning: "JAX's check found a value that is not finite and stopped.",
		Source:  "JAX jax_debug_nans, jax_debug_infs",
		Example: "FloatingPointError: invalid value (nan) encountered in jit(train_step).",
	},
	{
		ID: "nan-overflow-skip", Role: InfoRole,
		Literals: []string{"OVERFLOW! Rank "},
		Meaning:  "One step overflowed and was skipped; normal now and then with 16-bit floats.",
		Source:   "DeepSpeed deepspeed/runtime",
		Example:  "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
	},
}
