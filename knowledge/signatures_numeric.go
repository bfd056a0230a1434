package knowledge

// numericSignatures: the numbers went wrong.
var numericSignatures = []Signature{
	{
		ID: "nan-megatron-grad", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"found NaN in local "}, Pattern: `(?:Rank (?P<rank>\d+):? ?.*?)?found NaN in local (?P<what>[\w ]+)`,
		Meaning: "Megatron's check found a value that is not a number and stopped.",
		Source:  "Megatron-LM core/distributed and core/rerun_state_machine.py",
		Example: "AssertionError: Rank 3: found NaN in local grad norm in backward pass before data-parallel communication collective",
	},
	{
		ID: "nan-megatron-result", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"Unexpected result ", "(message='found "}, Pattern: `(?:Rank (?P<rank>\d+).*?)?Unexpected result (?P<value>\S+)`,
		Meaning: "Megatron's check found a value that is not finite and stopped.",
		Source:  "Megatron-LM core/rerun_state_machine.py, 0.10 on",
		Example: "Rank 3: Unexpected result nan (message='found NaN in local forward loss calculation')",
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
		ID: "nan-anomaly", Mechanism: "non-finite-loss", Role: CauseRole, Tier: LoopCrash, Direct: true,
		Literals: []string{"returned nan values in its "}, Pattern: `Function '(?P<function>\w+)' returned nan`,
		Meaning: "PyTorch's anomaly detection found the operation that made the first NaN gradient.",
		Source:  "PyTorch torch/csrc/autograd/engine.cpp",
		Example: "RuntimeError: Function 'LogSoftmaxBackward0' returned nan values in its 0th output.",
	},
	{
		ID: "nan-overflow-skip", Role: InfoRole,
		Literals: []string{"OVERFLOW! Rank "},
		Meaning:  "One step overflowed and was skipped; normal now and then with 16-bit floats.",
		Source:   "DeepSpeed deepspeed/runtime",
		Example:  "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
	},
}
