package diagnose

import "testing"

// What stands right below a traceback is no part of its message where it is another program's line, and does not say what was raised.
func TestLinesBelowATraceback(t *testing.T) {
	const raised = fieldSteps + "Traceback (most recent call last):\n  File \"/w/train.py\", line 10, in <module>\n    main()\n  File \"/w/train.py\", line 7, in main\n    loss = f(x)\n" +
		"RuntimeError: The size of tensor a (128) must match the size of tensor b (64) at non-singleton dimension 1\n"
	for _, c := range []fieldCase{
		{"the old launcher ends the others", one(raised + "Killing subprocess 5112\nKilling subprocess 5113\n"), []string{"exception"}, "-"},
		{"MPI is told", one(raised + "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\n"), []string{"exception"}, "-"},
		{"make ran it", one(raised + "make: *** [train] Error 1\n"), []string{"exception"}, "-"},
		{"kubectl ran it", one(raised + "command terminated with exit code 1\n"), []string{"exception"}, "-"},
		{"and on its way out it crashed", one(raised + "double free or corruption (!prev)\n"), []string{"exception", "native-crash"}, "-"},
		{"after a healthy run the launcher says the same", one(fieldSteps + "Training completed\nKilling subprocess 5112\n"), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// A script may say that the training finished whatever became of its program; nobody had caught what the program raised.
func TestAScriptsWordThatTrainingFinished(t *testing.T) {
	const (
		raised = "Traceback (most recent call last):\n  File \"/w/train.py\", line 10, in <module>\n    main()\nRuntimeError: bad shapes\n"
		caught = "Traceback (most recent call last):\n  File \"/w/train.py\", line 10, in worker\n    push()\nRuntimeError: no room\n"
	)
	for _, c := range []fieldCase{
		{"below what a process raised", one(fieldSteps + raised + "Training completed.\n"), []string{"completed", "exception"}, ""},
		{"below what a rank raised", one(fieldSteps + prefixed(0, raised) + "Training completed.\n"), []string{"completed", "exception"}, ""},
		{"below what was caught", one(fieldSteps + caught + "Training completed.\n"), []string{"completed"}, "-"},
		{"when training had gone on", one(fieldSteps + raised + "step 4 loss 2.12\nstep 5 loss 2.11\nstep 6 loss 2.1\nTraining completed.\n"), []string{"completed"}, "-"},
		{"with errors", one(fieldSteps + raised + "Training finished with errors\n"), []string{"exception"}, "-"},
	} {
		c.check(t)
	}
}
