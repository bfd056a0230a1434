package resolve

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"faultline/analysis/worker"
)

func TestAJobsNameIsTakenFromWhereItIsStated(t *testing.T) {
	fact := func(v string) worker.Fact { return worker.Fact{Key: "job_name", Value: v} }
	arg := func(n, v string) worker.Argument { return worker.Argument{Name: n, Value: v} }
	for _, tt := range []struct {
		name, asked, want string
		obs               worker.Observations
	}{
		{"SLURM's", "", "nightly", worker.Observations{Facts: []worker.Fact{fact("nightly")}, Arguments: []worker.Argument{arg("run_name", "x")}}},
		{"nobody chose one", "", "", worker.Observations{Facts: []worker.Fact{fact("bash")}}},
		{"an argument's", "", "gpt", worker.Observations{Facts: []worker.Fact{fact("wrap")}, Arguments: []worker.Argument{arg("name", "gpt"), arg("run_name", "None")}}},
		{"the operator's", "mine", "mine", worker.Observations{Facts: []worker.Fact{fact("nightly")}}},
		{"the commonest", "", "b", worker.Observations{Facts: []worker.Fact{fact("a"), fact("b"), fact("b")}}},
	} {
		if got := nameOf(tt.asked, &tt.obs, argumentsOf(&tt.obs)); got != tt.want {
			t.Errorf("%s: %q, not %q", tt.name, got, tt.want)
		}
	}
}

func TestContradictingArgumentsDoNotDependOnTheOrder(t *testing.T) {
	var obs worker.Observations
	for i := range 40 {
		obs.Arguments = append(obs.Arguments, worker.Argument{At: worker.At{Pos: worker.Pos{File: "f"}}, Name: fmt.Sprint("n", i%5), Value: fmt.Sprint(i % 3)})
	}
	want := argumentsOf(&obs)
	for seed := range uint64(5) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(obs.Arguments), reflect.Swapper(obs.Arguments))
		if got := argumentsOf(&obs); !reflect.DeepEqual(got, want) {
			t.Errorf("%v\n%v", got, want)
		}
	}
}

func TestItemsThatFailuresName(t *testing.T) {
	for text, want := range map[string]string{
		"[Errno 2] No such file or directory: '/data/a b/x.jpg'":                                       "",
		"[Errno 2] No such file or directory: '/data/img/000123.jpg'":                                  "/data/img/000123.jpg",
		"cannot identify image file '/data/1.jpg'":                                                     "/data/1.jpg",
		"unexpected end of data in shard 'shards/0007.tar'":                                            "shards/0007.tar",
		"failed to decode sample utt-00042 of shard s3://bucket/train/0009.tar: bad header":            "s3://bucket/train/0009.tar",
		"could not read key \"train/0001.tar\" from the store":                                         "train/0001.tar",
		"Corrupted record in file data_0003.tfrecord at offset 12":                                     "data_0003.tfrecord",
		"unexpected end of data":                                                                       "",
		"invalid literal for int() with base 10: 'abc'":                                                "",
		"image file is truncated (7 bytes not processed)":                                              "",
		"PytorchStreamReader failed reading zip archive: failed finding central directory":             "",
		"Failed reading archive /ckpt/step_100/mp_rank_00_model_states.pt: not a ZIP archive":          "/ckpt/step_100/mp_rank_00_model_states.pt",
		"expected file '../' or '///'":                                                                 "",
		"Expecting value: line 1 column 1 (char 0)":                                                    "",
		"GET object ais://bck/shard-000123.tar: unexpected EOF":                                        "ais://bck/shard-000123.tar",
		"while loading 'https://host/x.parquet?sig=abc'":                                               "https://host/x.parquet",
		"could not open the file named " + string(make([]byte, 3000)) + " '/data/far/away.bin' at all": "",
	} {
		if got := itemIn(text); got != want {
			t.Errorf("%q names %q, not %q", text, got, want)
		}
	}
}
