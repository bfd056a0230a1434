package line

import "testing"

// TestEscapedLineBreaks: rsyslog writes a message of several lines as one; each of them has its header, and is found again in the file.
func TestEscapedLineBreaks(t *testing.T) {
	const raw = "Mar 14 01:02:03 gw-5 fit.py[77]: [w3] Traceback (most recent call last):#012  File \"/a/fit.py\", line 9, in f#012KeyError: 'x'"
	var u Unwrapper
	e, ok := u.Unwrap([]byte(raw))
	const header = "Mar 14 01:02:03 gw-5 fit.py[77]: [w3] "
	if want := header + "Traceback (most recent call last):\n" + header + "  File \"/a/fit.py\", line 9, in f\n" + header + "KeyError: 'x'"; !ok || string(e.Text) != want {
		t.Fatalf("%v %q", ok, e.Text)
	}
	if len(e.At) != len(e.Text)+1 {
		t.Fatalf("%d places of %d bytes", len(e.At), len(e.Text))
	}
	for i, c := range e.Text {
		if c != '\n' && raw[e.Place(i)] != c {
			t.Fatalf("byte %d is %q there", i, raw[e.Place(i)])
		}
	}
	for _, plain := range []string{"Mar 14 01:02:03 gw-5 fit.py[77]: loss 2.1", "loss 2.1, ticket #012 is open: yes", "Mar 14 01:02:03 gw-5 fit.py#012"} {
		if e, ok := u.Unwrap([]byte(plain)); ok {
			t.Errorf("%q: %q", plain, e.Text)
		}
	}
}
