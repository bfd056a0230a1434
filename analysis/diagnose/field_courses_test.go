package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// A loss that became NaN or infinite, and steps that slowed down, in the step lines of stacks that print them in their own way. A loss that
// came back, and steps that did, failed nothing.
func TestCoursesInTheWordsOfEachStack(t *testing.T) {
	lines := func(form func(i int, loss string, seconds float64) string, loss func(i int) string, seconds func(i int) float64) map[string]string {
		var b strings.Builder
		for i := 1; i < 60; i++ {
			b.WriteString(form(i, loss(i), seconds(i)) + "\n")
		}
		return one(b.String())
	}
	falls := func(i int) string { return fmt.Sprintf("%.4f", 6-0.05*float64(i)) }
	lost := func(i int) string {
		if i >= 30 {
			return "nan"
		}
		return falls(i)
	}
	back := func(i int) string {
		if i == 30 {
			return "nan"
		}
		return falls(i)
	}
	even := func(i int) float64 { return 1.02 + 0.001*float64(i%3) }
	slow := func(i int) float64 {
		if i >= 30 {
			return 2.94
		}
		return even(i)
	}
	pause := func(i int) float64 {
		if i >= 30 && i < 40 {
			return 2.94
		}
		return even(i)
	}
	for _, s := range []struct {
		name  string
		timed bool
		form  func(i int, loss string, seconds float64) string
	}{
		{"GPT-NeoX", true, func(i int, loss string, s float64) string {
			return fmt.Sprintf(" samples/sec: 41.2 | iteration %8d/  143000 | elapsed time per iteration (ms): %.1f | learning rate: 1.0E-05 | lm_loss: %s | loss scale: 1.0 |", i*10, 1000*s, loss)
		}},
		{"Keras", false, func(i int, loss string, _ float64) string {
			return fmt.Sprintf("%d/900 [>.....] - ETA: 10:11 - loss: %s - accuracy: 0.1021", i, loss)
		}},
		{"Levanter", true, func(i int, loss string, s float64) string {
			return fmt.Sprintf("train:  10%%|#  | %d/1000 [10:11<9:11:11, %.2fs/it, loss=%s]", i, s, loss)
		}},
		{"Ultralytics", false, func(i int, loss string, _ float64) string {
			return fmt.Sprintf("     %d/100      4.52G     %s      2.341      1.401         31        640: 100%%|##########| 8/8 [00:01<00:00,  4.00it/s]", i, loss)
		}},
		{"OLMo", false, func(i int, loss string, _ float64) string {
			return fmt.Sprintf("n1:0\tolmo.train:806\tINFO\t[step=%d/739328,epoch=0]\n    train/CrossEntropyLoss=%s", i*10, loss)
		}},
		{"Composer", false, func(i int, loss string, _ float64) string {
			return fmt.Sprintf("[batch=%d/4800]:\n         Train time/batch: %d\n         Train loss/train/total: %s", i, i-1, loss)
		}},
		{"Detectron2", true, func(i int, loss string, s float64) string {
			return fmt.Sprintf("d2.utils.events: eta: 1:02:11  iter: %d  total_loss: %s  loss_cls: 0.41  time: %.4f  data_time: 0.0123", i*20, loss, s)
		}},
		{"fairseq", true, func(i int, loss string, s float64) string {
			return fmt.Sprintf("INFO | train_inner | epoch 001:  %d / 5000 loss=%s, ppl=1024.1, ups=%.2f, num_updates=%d, lr=0.0001", i*100, loss, 1/s, i*100)
		}},
		{"nanoGPT", true, func(i int, loss string, s float64) string {
			return fmt.Sprintf("iter %d: loss %s, time %.2fms, mfu 41.21%%", i*10, loss, 1000*s)
		}},
	} {
		for _, c := range []fieldCase{
			{s.name, lines(s.form, falls, even), []string{"completed"}, "-"},
			{s.name + ": no number to the end", lines(s.form, lost, even), []string{"non-finite-loss"}, "-"},
			{s.name + ": no number once", lines(s.form, back, even), []string{"completed"}, "-"},
			{s.name + ": slower for a while", lines(s.form, falls, pause), []string{"completed"}, "-"},
		} {
			c.check(t)
		}
		if s.timed {
			c := fieldCase{s.name + ": slower to the end", lines(s.form, falls, slow), []string{"throughput-regression"}, "-"}
			c.check(t)
		}
	}
}
