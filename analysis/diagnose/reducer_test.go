package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/simulate"
)

// ungraded is what a rank prints whose reducer waits for gradients that do not come, as PyTorch 2.6 does.
func ungraded(rank int, below string) string {
	return strings.ReplaceAll("Traceback (most recent call last):\n"+
		"  File \"/opt/train.py\", line 62, in train\n    loss = model(x, aux).pow(2).mean()\n"+
		"  File \"/usr/lib/python3/dist-packages/torch/nn/parallel/distributed.py\", line 1528, in _pre_forward\n"+
		"    if torch.is_grad_enabled() and self.reducer._rebuild_buckets():\n"+
		"RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has parameters that were not used in producing loss. You can enable unused parameter detection by passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \n"+
		"making sure all `forward` function outputs participate in calculating loss. \n"+
		below+"\n", "%R", fmt.Sprint(rank))
}

// inRank prefixes lines as PyTorch's excepthook does.
func inRank(rank int, text string) string {
	return fmt.Sprintf("[rank%d]: ", rank) + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", fmt.Sprintf("\n[rank%d]: ", rank)) + "\n"
}

const waitedInBackward = "Traceback (most recent call last):\n  File \"/opt/train.py\", line 66, in train\n    loss.backward()\n" +
	"  File \"/usr/lib/python3/dist-packages/torch/autograd/__init__.py\", line 347, in backward\n    _engine_run_backward(\n" +
	"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:15031\n"

func TestParametersWithoutAGradientAreNamed(t *testing.T) {
	const names = "Parameters which did not receive grad for rank %R: aux.bias, aux.weight\nParameter indices which did not receive grad for rank %R: 4 5"
	every := func(of func(rank int) string) (text string) {
		for r := range 4 {
			text += inRank(r, of(r))
		}
		return text
	}
	for _, c := range []struct {
		name, text    string
		ranks         []int
		summary, says string
	}{
		{"the same everywhere", every(func(r int) string { return ungraded(r, names) }), nil,
			"parameters aux.bias, aux.weight got no gradient in the previous step", "the same on all 4 ranks"},
		{"one rank took another path, and another one waits for it in backward", inRank(2, ungraded(2, names)) + inRank(0, waitedInBackward), []int{2},
			"rank 2: parameters aux.bias, aux.weight", "meanwhile rank 0 was waiting in its backward pass"},
		{"one rank says so, of the others nothing is known", inRank(2, ungraded(2, names)), []int{2},
			"rank 2: parameters aux.bias, aux.weight", "can't tell whether"},
		{"different ones", every(func(r int) string {
			return ungraded(r, fmt.Sprintf("Parameters which did not receive grad for rank %%R: expert%d.weight", r/3))
		}), nil, "different ones on different ranks (rank 3: parameter expert1.weight)", "the lists differ between ranks"},
		{"by number alone", every(func(r int) string {
			return ungraded(r, "Parameter indices which did not receive grad for rank %R: 4 5\n In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG")
		}), nil, "parameters 4, 5 got no gradient", "the same on all 4 ranks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.text)}}, nil, 4))
			v := r.Verdict
			if v.Mechanism != "exception" || !slices.Equal(v.Root.Ranks, c.ranks) && len(c.ranks)+len(v.Root.Ranks) > 0 {
				t.Errorf("%s of ranks %v", v.Mechanism, v.Root.Ranks)
			}
			if !strings.Contains(v.Summary, c.summary) {
				t.Errorf("it says %q", v.Summary)
			}
			if !strings.Contains(r.Chain[0].Statement, c.says) {
				t.Errorf("first it says %q", r.Chain[0].Statement)
			}
			if len(r.Recommendations) == 0 || !strings.Contains(r.Recommendations[0].Text, "find_unused_parameters=True") {
				t.Errorf("first to do: %+v", r.Recommendations)
			}
			asked := slices.ContainsFunc(v.Needs, func(n incident.Need) bool { return n.Command == "TORCH_DISTRIBUTED_DEBUG=INFO" })
			if asked != strings.Contains(c.name, "number") {
				t.Errorf("asked for names: %v", asked)
			}
		})
	}
}

// A loop that caught an exception and went on leaves DDP waiting for every parameter.
func TestAllParametersMeanThatBackwardDidNotRun(t *testing.T) {
	text := "[rank0]:[I1122 17:37:25.974852197 logger.cpp:226] [Rank 0]: DDP Initialized with: \nfind_unused_parameters: 0\nnum_parameter_tensors: 2\nmodule_name: Net\n\n" +
		inRank(0, ungraded(0, "Parameters which did not receive grad for rank %R: head.bias, head.weight"))
	r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 4))
	said := ""
	for _, l := range r.Chain {
		said += l.Statement + "\n"
	}
	if !strings.Contains(said, "all 2 parameters in the module") {
		t.Error(said)
	}
}

func TestAGradientThatCameTwiceIsNamed(t *testing.T) {
	text := inRank(1, "Traceback (most recent call last):\n  File \"/opt/train.py\", line 66, in train\n    loss.backward()\n"+
		"RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module parameter outside the `forward` function.\n"+
		"Parameter at index 3 with name body.bias has been marked as ready twice. This means that multiple autograd engine  hooks have fired for this particular parameter during this iteration.\n")
	r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 4))
	if v := r.Verdict; v.Mechanism != "exception" || !strings.Contains(v.Summary, "parameter body.bias got a second gradient in one step") {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
	if len(r.Recommendations) == 0 || !strings.Contains(r.Recommendations[0].Text, "use_reentrant=False") {
		t.Errorf("%+v", r.Recommendations)
	}
}

func TestBothSidesOfAMismatchSayWhereTheyCalled(t *testing.T) {
	of := func(rank, other int, op, theirs, fn string, at int) string {
		return inRank(rank, fmt.Sprintf("Traceback (most recent call last):\n  File \"/opt/train.py\", line %d, in %s\n    dist.call(x)\n"+
			"  File \"/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py\", line 2275, in x\n    work = pg.x([t])\n"+
			"RuntimeError: Detected mismatch between collectives on ranks. Rank %d is running collective: CollectiveFingerPrint(SequenceNumber=8, OpType=%s, TensorShape=[], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu)), but Rank %d is running collective: CollectiveFingerPrint(SequenceNumber=8, OpType=%s, TensorShape=[], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu)).Collectives differ in the following aspects: 	 Op type: %svs %s\n",
			at, fn, rank, op, other, theirs, op, theirs))
	}
	text := of(0, 2, "ALLREDUCE", "ALLGATHER", "log_mean", 83) + of(1, 2, "ALLREDUCE", "ALLGATHER", "log_mean", 83) + of(3, 2, "ALLREDUCE", "ALLGATHER", "log_mean", 83) +
		of(2, 0, "ALLGATHER", "ALLREDUCE", "log_all", 82)
	r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 4))
	if v := r.Verdict; v.Mechanism != "collective-mismatch" || !slices.Equal(v.Root.Ranks, []int{2}) {
		t.Errorf("%s of %v", v.Mechanism, v.Root.Ranks)
	}
	const want = "rank 2 ran ALLGATHER, called in log_all (train.py:82), while ranks 0-1,3 ran ALLREDUCE, called in log_mean (train.py:83) (group ranks)"
	if got := r.Chain[0]; !strings.EqualFold(got.Statement, want) || len(got.Evidence) != 3 {
		t.Errorf("%d quotations: %s", len(got.Evidence), got.Statement)
	}
	unknown := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, 0)).Verdict
	if want := "ALLREDUCE on 3 group ranks, ALLGATHER on group rank 2"; !strings.HasSuffix(unknown.Summary, want) {
		t.Errorf("%q, expected %q", unknown.Summary, want)
	}
	if len(unknown.Root.Ranks) > 0 || unknown.Root.Named != "rank 2" {
		t.Errorf("of a world of unknown size: %v, %q", unknown.Root.Ranks, unknown.Root.Named)
	}
}

// Up to 1.11 each rank prints its own side alone.
func TestOldMismatchesSayOneSideEach(t *testing.T) {
	old := func(rank int, shape string) string {
		return fmt.Sprintf("Traceback (most recent call last):\n  File \"/opt/train.py\", line 82, in log_mean\n    dist.all_reduce(x)\n"+
			"RuntimeError: Detected mismatch between collectives on ranks. Rank %d is running inconsistent collective: CollectiveFingerPrint(OpType=ALLREDUCE, TensorShape=[%s], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default)))\n", rank, shape)
	}
	shapes := func(rank int) string {
		return fmt.Sprintf("Traceback (most recent call last):\n  File \"/opt/train.py\", line 82, in log_mean\n    dist.all_reduce(x)\n"+
			"RuntimeError: Error when verifying shape tensors for collective ALLREDUCE on rank %d. This likely indicates that input shapes into the collective are mismatched across ranks. Got shapes:  10\n[ torch.LongTensor{1} ]\n", rank)
	}
	for _, c := range []struct {
		name, text string
		says       []string
		odd        []int
	}{
		{"fingerprints", inRank(0, old(0, "20, 10")) + inRank(1, old(1, "20, 10")) + inRank(2, old(2, "20, 5")) + inRank(3, old(3, "20, 10")),
			[]string{"ranks 0-1,3 ran ALLREDUCE on [20, 10] Float cuda, called in log_mean (train.py:82)", "rank 2 ran ALLREDUCE on [20, 5] Float cuda"}, []int{2}},
		{"shapes that nobody prints whole", inRank(0, shapes(0)) + inRank(1, shapes(1)), []string{"ranks 0-1 found other ranks with different tensors"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.text)}}, nil, 4))
			if v := r.Verdict; v.Mechanism != "collective-mismatch" || !slices.Equal(v.Root.Ranks, c.odd) && len(c.odd)+len(v.Root.Ranks) > 0 {
				t.Errorf("%s of %v: %s", v.Mechanism, v.Root.Ranks, v.Summary)
			}
			said := ""
			for _, l := range r.Chain {
				said += strings.ToLower(l.Statement) + "\n"
			}
			for _, want := range c.says {
				if !strings.Contains(said, strings.ToLower(want)) {
					t.Errorf("it does not say %q:\n%s", want, said)
				}
			}
		})
	}
}

func TestDDPsOwnLoggingIsCompared(t *testing.T) {
	log := func(rank int, tensors, iteration, forward string) string {
		return strings.NewReplacer("%R", fmt.Sprint(rank), "%T", tensors, "%I", iteration, "%F", forward).Replace(
			"[rank%R]:[I1122 17:37:25.974852197 logger.cpp:226] [Rank %R]: DDP Initialized with: \nfind_unused_parameters: 0\nnum_parameter_tensors: %T\nworld_size: 4\nmodule_name: Net\n\n" +
				"[rank%R]:[I1122 17:43:25.974852197 logger.cpp:392] [Rank %R / 4] [before iteration %I] Training Net unused_parameter_size=0 \n" +
				" Avg forward compute time: %F \n Avg backward compute time: 13813126 \nAvg backward comm. time: 16394161 \n Avg backward comm/comp overlap time: 11749385\n")
	}
	for _, c := range []struct {
		name, text string
		says, not  string
	}{
		{"one rank is slow", log(0, "8", "20", "7000000") + log(1, "8", "20", "7500000") + log(2, "8", "20", "59000000") + log(3, "8", "20", "7100000"), "takes 59.0 ms on rank 2 and 7.0 to 7.5 ms on the other 3", ""},
		{"two are", log(0, "8", "20", "7000000") + log(1, "8", "20", "55000000") + log(2, "8", "20", "59000000") + log(3, "8", "20", "7100000"), "no rank stands out", ""},
		{"a rank is missing", log(0, "8", "20", "7000000") + log(1, "8", "20", "7500000") + log(2, "8", "20", "59000000"), "was wrapped with", "forward pass of"},
		{"the first steps", log(0, "8", "2", "7000000") + log(1, "8", "2", "7500000") + log(2, "8", "2", "59000000") + log(3, "8", "2", "7100000"), "was wrapped with", "forward pass of"},
		{"another model on one rank", log(0, "8", "2", "7000000") + log(1, "8", "2", "7500000") + log(2, "9", "2", "59000000") + log(3, "8", "2", "7100000"), "is 8 on rank 0 and 9 on rank 2: the ranks hold different models", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, ok := ddpArtifact(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.text)}}, nil, 4))
			said := ""
			for _, x := range a.Findings {
				said += x.Statement + "\n"
			}
			if !ok || !strings.Contains(said, c.says) || c.not != "" && strings.Contains(said, c.not) {
				t.Error(said)
			}
		})
	}
}
