package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/incident"
)

// recordForms are files in which runs keep what they measured; their names say that they are no logs. The times are those of the steps.
var recordForms = map[string]struct {
	head string
	row  func(step int, loss, seconds, at float64) string
}{
	"metrics.csv": {"step,loss,step_time,tokens_per_sec\n", func(n int, loss, s, _ float64) string {
		return fmt.Sprintf("%d,%.4f,%.2f,%.0f\n", n, loss, s, 994000/s)
	}},
	"metrics.tsv": {"step\tloss\tstep_time\n", func(n int, loss, s, _ float64) string { return fmt.Sprintf("%d\t%.4f\t%.2f\n", n, loss, s) }},
	"own.jsonl": {"", func(n int, loss, s, _ float64) string {
		return fmt.Sprintf("{\"step\": %d, \"loss\": %.4f, \"step_time\": %.2f}\n", n, loss, s)
	}},
	"wandb.jsonl": {"", func(n int, loss, s, at float64) string {
		return fmt.Sprintf("{\"_step\": %d, \"_timestamp\": %.3f, \"_runtime\": %.1f, \"train/loss\": %.4f, \"perf/step_time_s\": %.2f}\n", n, at, at-1750000000, loss, s)
	}},
	"nested.jsonl": {"", func(n int, loss, s, at float64) string {
		return fmt.Sprintf("{\"time\": %.1f, \"level\": \"INFO\", \"metrics\": {\"step\": %d, \"loss\": %.4f, \"step_time_s\": %.2f}}\n", at, n, loss, s)
	}},
	"events.jsonl": {"", func(n int, loss, s, _ float64) string {
		return fmt.Sprintf("{\"level\": \"INFO\", \"message\": \"step %d loss %.4f step_time=%.2fs\"}\n", n, loss, s)
	}},
}

// A directory that holds only what a run keeps of itself is read, whatever the file is called.
func TestRecordsAloneAreRead(t *testing.T) {
	for name, form := range recordForms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, text, at := t.TempDir(), form.head, 1750000000.0
			for n := 1; n < 200; n++ {
				seconds := 7.0
				if n >= 120 {
					seconds = 11.2
				}
				at += seconds
				text += form.row(n, 2+8/float64(n+3), seconds, at)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, verdict := triageOf(t, dir, true, liveAt(0).AddDate(0, 0, 30)) // the age of the last line plays no part
			if s := sign(t, got, incident.SignStep); !strings.HasPrefix(s.Text, "199") {
				t.Errorf("step: %s", s.Text)
			}
			if s := sign(t, got, incident.SignStepTime); !strings.Contains(s.Text, "up: 11.2 s, 7.00 s at the start") || !strings.Contains(s.Text, "since step 120") {
				t.Errorf("step time: %s", s.Text)
			}
			if s := sign(t, got, incident.SignLoss); !strings.HasPrefix(s.Text, "falling") {
				t.Errorf("loss: %s", s.Text)
			}
			if verdict.Mechanism != "throughput-regression" {
				t.Errorf("verdict %s", verdict.Mechanism)
			}
		})
	}
}

// What a run trains on, and how its model is configured, is no record of it.
func TestDataAloneIsNoRecord(t *testing.T) {
	for name, text := range map[string]string{
		"train.jsonl": "{\"text\": \"hello\", \"id\": 5}\n{\"text\": \"bye\", \"id\": 6}\n",
		"sft.jsonl":   "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n",
		"config.json": "{\"model_type\": \"llama\", \"hidden_size\": 4096}\n",
		"labels.csv":  "id,label\n1,2\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs strings.Builder
			if code := run(t.Context(), []string{"diagnose", dir}, env{nil, &out, &errs}); code != exitUnreadable || !strings.Contains(errs.String(), "isn't a log") {
				t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
			}
		})
	}
}
