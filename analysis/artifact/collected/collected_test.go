package collected

import (
	"context"
	"strings"
	"testing"
)

const list = "faultline collect 1 job=4242 node=node07\nmissing nvidia-smi: not installed\nmissing py-spy dump --pid 7: exit 1 no: really\nprocess pid=7 RANK=3\n"

func TestAListSaysWhatLacks(t *testing.T) {
	if !Recognise([]byte(list)) || Recognise([]byte("x\n"+list)) || Recognise([]byte("faultline collect 2 job=1 node=n\n")) {
		t.Error("it is not known by its first line")
	}
	l, err := Read(context.Background(), strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	if l.Node != "node07" || len(l.Missing) != 2 {
		t.Fatalf("read %+v", l)
	}
	m := l.Missing[1]
	if m.What != "py-spy dump --pid 7" || m.Why != "exit 1 no: really" || list[m.Offset:m.Offset+int64(m.Len)] != m.Text {
		t.Errorf("read %+v", m)
	}
}

func TestTheNodesThatWereAskedAreKnown(t *testing.T) {
	const text = "faultline nodes 1 job=4242_7\nnode07\nnode08\nno name of a node\n"
	if !Recognise([]byte(text)) {
		t.Error("it is not known by its first line")
	}
	l, err := Read(context.Background(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if l.Node != "" || len(l.Asked) != 2 || l.Asked[1].Node != "node08" || text[l.Asked[1].Offset:][:l.Asked[1].Len] != "node08" {
		t.Errorf("read %+v", l)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(list))
	f.Add([]byte("faultline collect 1 job=1 node=n"))
	f.Add([]byte("faultline nodes 1 job=1\nn1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := Read(context.Background(), strings.NewReader(string(b)))
		if err != nil {
			return
		}
		for _, m := range l.Missing {
			if got := string(b[m.Offset : m.Offset+int64(m.Len)]); got != m.Text {
				t.Errorf("%q stands there, not %q", got, m.Text)
			}
		}
	})
}
