package correlate

import (
	"slices"
	"testing"
	"unicode/utf8"
)

func TestBothSidesNameTheSame(t *testing.T) {
	for _, c := range []struct {
		name, client, daemon string
		want                 Mark
	}{
		{"the object of a recovery", `AISError: STATUS:500, MESSAGE:GFN(ais://lab/o/000258, t[ais-target-3]): Get "http://127.0.0.1:18283/v1/objects/lab/o/000258?gfn=true&provider=ais": dial tcp 127.0.0.1:18283: connect: connection refused, REQ_URL:http://x:1/v1/ml/moss/lab`,
			`W 23:15:32.342455 moss:678 x-get-batch[gbt-iAf4A11G9]-ais://lab t[ais-target-1] bcast abort [ GFN(ais://lab/o/000258, t[ais-target-3]): Get "http://127.0.0.1:18283/v1/objects/lab/o/000258?gfn=true"`, Mark{Object, "lab/o/000258"}},
		{"a batch of a proxy that found nobody", `Error: Post "http://127.0.0.1:18183/v1/ml/moss/lab/noxid/ais-pro-_qrTL/3?provider=ais&tid=ais-target-3": dial tcp 127.0.0.1:18183: connect: connection refused`,
			`E 23:15:32.538752 Error: Post "http://127.0.0.1:18183/v1/ml/moss/lab/noxid/ais-pro-_qrTL/3?provider=ais&tid=ais-target-3": dial tcp`, Mark{Work, "ais-pro-_qrTL"}},
		{"a rejected batch", `AISError: STATUS:429, MESSAGE:ErrTooManyRequests: wid=\"ais-pro-AbCdE\" rejected due to resource pressure (load=critical), REQ_URL:http://x:1/v1/ml/moss/lab`,
			`E 23:21:06.000000 ErrTooManyRequests: wid="ais-pro-AbCdE" rejected due to resource pressure (load=critical sleep=10ms [mem=low cpu=low dsk=critical], pending=3)`, Mark{Work, "ais-pro-AbCdE"}},
		{"an object that did not fit", "AISError: STATUS:507, MESSAGE:out of space, REQ_URL:http://x:1/v1/objects/lab/o%2F000309?provider=ais",
			"E 23:18:05.101588 ErrCapExceeded: out of space: used 100%: PUT /v1/objects/lab/o/000309 (t[ais-target-1]: htrun.go:1636 <- target.go:1139])", Mark{Object, "lab/o/000309"}},
		{"what Lhotse could not fetch", "Failed to fetch object o/000005 from bucket ais://lab: ErrObjNotFound", "E 23:16:01.000000 ErrNotFound: t[ais-target-1]: ais://lab/o/000005 does not exist: GET /v1/objects/lab/o/000005 (t[x]: htrun.go:1])", Mark{Object, "lab/o/000005"}},
		{"a stream that broke", "AISError: STATUS:500, MESSAGE:shared-dm[t-01<=t-03] sbr_obj_data_eof:[ctx: n=24576 err: unexpected EOF], REQ_URL:x",
			"W 23:15:32.131708 shared_dm:350 t[t-01] shared-dm shared-dm[t-01<=t-03] sbr_obj_data_eof:[ctx: n=24576 err: unexpected EOF]", Mark{Breach, "t-01<=t-03 24576"}},
		{"an address that refused", "HTTPConnectionPool(host='10.0.0.3', port=51081): Max retries exceeded with url: /v1/objects/lab/o/1 (… Connection refused'))",
			`W 23:15:38.0 kalive:266 p[p-00] failed to fast-kalive t[t-03] err: [ Get "http://10.0.0.3:51081/v1/health": dial tcp 10.0.0.3:51081: connect: connection refused 0 ]`, Mark{Address, "10.0.0.3:51081"}},
	} {
		if a, b := marksOf(c.client), marksOf(c.daemon); !slices.Contains(a, c.want) || !slices.Contains(b, c.want) {
			t.Errorf("%s: %+v\n client %+v\n daemon %+v", c.name, c.want, a, b)
		}
	}
}

func TestLinesWithoutAStoreNameNothing(t *testing.T) {
	for _, s := range []string{"", "step 12 loss 2.3", "https://pytorch.org/docs", "wid=", "http://", "://", "object from bucket ", "t[]", "/v1/objects/", "shared-dm[", "RuntimeError: CUDA error: out of memory"} {
		if m := marksOf(s); len(m) > 0 {
			t.Errorf("%q: %+v", s, m)
		}
	}
}

func FuzzMarks(f *testing.F) {
	f.Add(`GFN(ais://lab/o/000258, t[ais-target-3]): Get "http://127.0.0.1:18283/v1/objects/lab/o/000258?gfn=true": dial tcp 127.0.0.1:18283: connect: connection refused wid="abcdef" host='h', port=1`)
	f.Add("shared-dm[a<=b] sbr:[ctx: n=7 /noxid/xxxxxx/ /t2tctrl/get-batch/gbt/ais-pro-x/abortWI Object o from bucket ais://b t[x] p[y] tid=z %zz")
	f.Fuzz(func(t *testing.T, s string) {
		marks := marksOf(s)
		if len(marks) > maxMarks {
			t.Errorf("%d marks", len(marks))
		}
		for _, m := range marks {
			if m.Value == "" || len(m.Value) > maxValue || utf8.ValidString(s) && m.Kind != Object && !utf8.ValidString(m.Value) {
				t.Errorf("%+v", m)
			}
		}
	})
}
