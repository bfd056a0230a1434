package analysis

import (
	"fmt"
	"slices"
	"testing"
)

// What of a job's lines leads to its storage, with the line that says it, and what does not.
func TestLinesThatLeadToTheStorage(t *testing.T) {
	const (
		head = "[rank0]: step 1\n2026-01-21 15:38:13,100 - trainer - INFO - begins\n"
		end  = "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/opt/train.py\", line 4, in <module>\n[rank0]:     main()\n[rank0]: ValueError: no such optimizer\n"
	)
	for name, c := range map[string]struct {
		lines   string
		want    []string // kind file:line statement
		buckets []string
	}{
		"nothing": {"loss 3.1\n", nil, nil},
		"Lhotse reads one by one": {"WARNING AIStore batch.get() failed: timed out. Falling back to sequential GET requests.\n",
			[]string{"trouble train.log:3 Lhotse reported that a batch, or an item in one, did not arrive", "use train.log:3 the job uses Lhotse"}, nil},
		"a configuration": {"    use_lhotse: true\n    shards: ais://speech-train/audio_{0..9}.tar\n    save: ais://ckpts/run-7/checkpoint\n",
			[]string{"use train.log:3 the job loads its data with Lhotse", "use train.log:4 the job reads its data from ais://speech-train"}, []string{"ais://ckpts", "ais://speech-train"}},
		"a configuration that says no": {"    use_lhotse: false\n    use_lhotse=False\n", nil, nil},
		"the environment":              {"AIS_ENDPOINT=http://ais:51080\n", []string{"use train.log:3 the job uses AIS_ENDPOINT"}, nil},
		"a retry that was given up": {"2026-01-21 15:38:14,100 - loader - WARNING - reading shard 7 failed: timed out, retrying 1/2\n2026-01-21 15:38:15,100 - loader - WARNING - reading shard 7 failed: timed out, retrying 2/2\n",
			[]string{"trouble train.log:3 a storage client gave up on a read after its last retry"}, nil},
		"a worker of a job that reads elsewhere": {"KeyError: Caught KeyError in DataLoader worker process 3.\n", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := diagnosed(t, Input{Sources: written(t, map[string]string{"train.log": head + c.lines + end}, "")})
			var got []string
			for _, s := range r.Storage.Signs {
				got = append(got, fmt.Sprintf("%s %s:%d %s", s.Kind, s.Evidence[0].File, s.Evidence[0].Line, s.Statement))
				if s.Evidence[0].Text == "" {
					t.Errorf("%s is not quoted", s.Statement)
				}
			}
			if !slices.Equal(got, c.want) || !slices.Equal(r.Storage.Buckets, c.buckets) {
				t.Errorf("%q, buckets %q", got, r.Storage.Buckets)
			}
		})
	}
}
