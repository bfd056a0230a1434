package frtrace

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const joined27 = `loaded 8 files in 0.08s
built groups, memberships
Not all ranks joining collective, sequence number: 31117
internal record id: 31116
group info: 0:default_pg
collective: nccl:all_reduce
missing ranks: {3, 5}
input sizes: [[1571911]]
output sizes: [[1571911]]
world size: 8
expected ranks: {0, 1, 2, 3, 4, 5, 6, 7}
collective state: scheduled
collective stack trace:
 all_reduce at /opt/venv/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py:2707
wrapper at /opt/venv/lib/python3.10/site-packages/torch/distributed/c10d_logger.py:81
sync_buffers at /w/models/splat.py:650
`

func read(t *testing.T, text string) Report {
	t.Helper()
	if !Recognise([]byte(text)) {
		t.Errorf("not recognised: %q", text)
	}
	a, err := Read(context.Background(), strings.NewReader(text))
	if err != nil || len(a.Reports) != 1 {
		t.Fatalf("%v, %+v", err, a)
	}
	return a.Reports[0]
}

func TestWhoIsMissing(t *testing.T) {
	r := read(t, joined27)
	if r.Kind != Missing || r.Seq != 31117 || r.Group != "0:default_pg" || r.Op != "all_reduce" || r.World != 8 || !slices.Equal(r.Missing, []int{3, 5}) || !slices.Equal(r.Joined(), []int{0, 1, 2, 4, 6, 7}) ||
		r.Frame != "sync_buffers at /w/models/splat.py:650" || r.MissedAt.Line != 7 || r.Line != 3 {
		t.Errorf("%+v", r)
	}
	for name, text := range map[string]string{
		"2.5": "Not all ranks joining collective for group 0:default_pg collective nccl:all_reduce  Missing ranks are {1}  [[3, 4]] [[3, 4]] 2 scheduled  \n",
		"2.6": "Not all ranks joining collective 5 at entry 4\ngroup info: 0:default_pg\ncollective: nccl:all_reduce\nmissing ranks: {1}\ninput sizes: [[3, 4]]\noutput sizes: [[3, 4]]\nexpected ranks: 2\ncollective state: scheduled\n",
	} {
		if r := read(t, text); r.Kind != Missing || !slices.Equal(r.Missing, []int{1}) || r.Group != "0:default_pg" || r.Op != "all_reduce" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestWhoDiffers(t *testing.T) {
	const top = "Collective sequence number: 12 has errors\ninternal record id: 11\ngroup info: 0:default_pg\ncollective: nccl:all_reduce\ninput sizes: [[64]]\noutput sizes: [[64]]\nworld size: 4\nexpected ranks: {0, 1, 2, 3}\ncollective state: scheduled\n"
	for text, want := range map[string]Kind{
		"error msg: Culprit rank 2; Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective type: 'all_reduce' does not match found collective type: 'broadcast'\n":                  Mismatch,
		"error msg: Culprit rank 2; Error type: SIZE_OR_SYNTAX_MISMATCH, Expected input sizes: '[[64]]' does not match found input sizes: '[[32]]'\n":                                  Mismatch,
		"error msg: Culprit rank 2; Error type: COLLECTIVE_STATE_MISMATCH, Expected state: 'scheduled' does not match found state: 'completed'\n":                                      State,
		"error msg: Culprit rank 2; Error type: COLLECTIVE_STATE_MISMATCH, Expected state: 'scheduled' does not match found state: 'started', Culprit rank 2; Error type: UNDECIDED\n": Mismatch,
	} {
		if r := read(t, top+text); r.Kind != want || !slices.Equal(r.Culprits, []int{2}) || r.Seq != 12 || r.ErrorAt.Line != 10 {
			t.Errorf("%s%+v", text, r)
		}
	}
}

func TestMissingDumps(t *testing.T) {
	r := read(t, "We cannot decide what's wrong with this collective entry because we missed FR dumps from ranks ({3, 7}) so we don't have enough information. If you want to debug further use -j to dump all raw trace\n")
	if r.Kind != Open || !reflect.DeepEqual(r.Missing, []int{3, 7}) {
		t.Errorf("%+v", r)
	}
}

func TestOtherTextIsNone(t *testing.T) {
	for _, text := range []string{"", "step 1 loss 2.0\n", "collective: nccl:all_reduce\nmissing ranks: {1}\n"} {
		if Recognise([]byte(text)) {
			t.Errorf("recognised %q", text)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(joined27)
	f.Add("Not all ranks joining collective for group a collective nccl:x Missing ranks are {1, }")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Read(context.Background(), strings.NewReader(text))
		if err != nil {
			return
		}
		for _, r := range a.Reports {
			if r.Offset < 0 || r.Offset+int64(r.Len) > int64(len(text)) || r.Seq < -1 || r.World < 0 {
				t.Fatalf("%+v", r)
			}
		}
	})
}
