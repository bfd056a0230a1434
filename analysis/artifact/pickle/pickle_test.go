package pickle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// render writes a value the way Python's repr does, near enough to compare by eye.
func render(v Value) string {
	switch v.Kind() {
	case Bool:
		return map[int64]string{0: "False", 1: "True"}[v.n]
	case Int:
		return fmt.Sprint(v.n)
	case Float:
		f, _ := v.Float()
		return fmt.Sprint(f)
	case Text:
		return fmt.Sprintf("%q", v.s)
	case List, Tuple, Dict:
		var b strings.Builder
		for i, x := range v.Items() {
			if v.Kind() == Dict && i%2 == 1 {
				b.WriteString(": ")
			} else if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(render(x))
		}
		return map[Kind]string{List: "[", Tuple: "(", Dict: "{"}[v.Kind()] + b.String() + map[Kind]string{List: "]", Tuple: ")", Dict: "}"}[v.Kind()]
	}
	return "None"
}

func TestWhatPicklesHold(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"an empty dict", "\x80\x02}.", "{}"},
		{"numbers of every width", "\x80\x02](K\x07M\x01\x02J\xff\xff\xff\xff\x8a\x08\x00\x00\x00\x00\x01\x00\x00\x00\x8a\x00\x8a\x01\xffe.", "[7, 513, -1, 4294967296, 0, -1]"},
		{"a number with a fraction", "\x80\x02](G?\xf8\x00\x00\x00\x00\x00\x00e.", "[1.5]"},
		{"texts", "\x80\x02](X\x02\x00\x00\x00abU\x01c\x8c\x01d\x8d\x01\x00\x00\x00\x00\x00\x00\x00ee.", `["ab", "c", "d", "e"]`},
		{"true, false and nothing", "\x80\x02(\x88\x89Nt.", "(True, False, None)"},
		{"tuples of fixed length", "\x80\x02(K\x01\x85K\x01K\x02\x86K\x01K\x02K\x03\x87t.", "((1), (1, 2), (1, 2, 3))"},
		{"the memo", "\x80\x02](X\x02\x00\x00\x00abq\x00h\x00h\x00e.", `["ab", "ab", "ab"]`},
		{"a list that is filled after it was remembered", "\x80\x02(]q\x00K\x05ah\x00t.", "([5], [5])"},
		{"a dict one by one", "\x80\x02}X\x01\x00\x00\x00aK\x01sX\x01\x00\x00\x00bK\x02s.", `{"a": 1, "b": 2}`},
		{"PyTorch's list with a type", "\x80\x02(ctorch.jit._pickle\nbuild_intlist\n](K\x01K\x02e\x85Rt.", "([1, 2])"},
		{"a frame of protocol 4", "\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01e.", "[1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := Reader{}.Read(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := render(v); got != c.want {
				t.Errorf("it holds %s, want %s", got, c.want)
			}
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	for _, c := range []struct{ name, in, why string }{
		{"a call", "\x80\x02(cos\nsystem\nX\x04\x00\x00\x00true\x85Rt.", `asks to call "os system": refused`},
		{"a call by a name on the stack", "\x80\x04(\x8c\x02os\x8c\x06system\x93t.", "0x93"},
		{"an object", "\x80\x02(c__main__\nA\n)\x81t.", "0x81"},
		{"a name in a list", "\x80\x02](cos\nsystem\ne.", "to call"},
		{"a name as the whole", "\x80\x02(cos\nsystem\nt.", "to call"},
		{"an extension", "\x80\x02(\x82\x01t.", "0x82"},
		{"no pickle", "hello, this is a text", "no pickle"},
		{"protocol 0", "(lp0\n.", "no pickle"},
		{"a file that is cut", "\x80\x02](X\x20\x00\x00\x00ab", "ends in the middle"},
		{"a length beyond all bounds", "\x80\x02](X\xff\xff\xff\xffab", "too large"},
		{"a missing mark", "\x80\x02]K\x01e.", "lacks its mark"},
		{"a dict with half a pair", "\x80\x02}(K\x01u.", "without a value"},
		{"adding to a number", "\x80\x02(K\x01K\x02at.", "no list or dict"},
		{"a reference to nothing", "\x80\x02(h\x05t.", "not there"},
		{"nested without end", "\x80\x02" + strings.Repeat("(", 100), "nested"},
		{"something left open", "\x80\x02](K\x01.", "something open"},
		{"more than can be held", "\x80\x02](" + strings.Repeat("N", MaxValues+1), "values at a time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Reader{}.Read(c.in)
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("the error is %v, want one with %q", err, c.why)
			}
		})
	}
}

func TestElementsAreHandedOutOneByOne(t *testing.T) {
	frame := "}(X\x04\x00\x00\x00nameX\x01\x00\x00\x00fuq\x00"
	first := "}(X\x01\x00\x00\x00a](" + frame + "euq\x01"
	second := "}(X\x01\x00\x00\x00a](h\x00eu"
	for _, c := range []struct{ name, in, key string }{
		{"under a key", "\x80\x02}(X\x01\x00\x00\x00vK\x01X\x07\x00\x00\x00entries](" + first + second + "eu.", "entries"},
		{"as the whole", "\x80\x02](" + first + second + "e.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			v, err := Reader{Element: func(key string, v Value) bool {
				if key != c.key {
					t.Errorf("the key is %q", key)
				}
				got = append(got, render(v))
				return true
			}}.Read(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if want := `[{"a": [{"name": "f"}]} {"a": [{"name": "f"}]}]`; fmt.Sprint(got) != want {
				t.Errorf("it handed out %v, want %s", got, want)
			}
			if strings.Contains(render(v), "name") {
				t.Errorf("what was handed out is still there: %s", render(v))
			}
		})
	}
	_, err := Reader{Element: func(string, Value) bool { return true }}.Read("\x80\x02](" + first + "h\x01e.")
	if err == nil || !strings.Contains(err.Error(), "dropped") {
		t.Errorf("a reference to a dropped element gives %v", err)
	}
}

func TestLongListsAreNotHeld(t *testing.T) {
	entry := "}(X\x01\x00\x00\x00a](K\x01K\x02eu"
	n := 0
	_, err := Reader{Element: func(string, Value) bool { n++; return true }}.Read("\x80\x02](" + strings.Repeat(entry, 1_000_000) + "e.")
	if err != nil || n != 1_000_000 {
		t.Errorf("%d elements, %v", n, err)
	}
}

// samples are real dumps of PyTorch's flight recorder; nil where they are not.
func samples(t testing.TB) []string {
	files, _ := filepath.Glob("../../../../shared/samples/flight-recorder/*/_dump_*")
	if len(files) == 0 {
		t.Skip("../shared/samples/flight-recorder is not there")
	}
	return files
}

func TestRealDumpsAreReadToTheirEnd(t *testing.T) {
	for _, f := range samples(t) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Reader{}.Read(string(b))
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		var parts []string
		rest, err := Reader{Element: func(key string, v Value) bool {
			if key == "entries" {
				parts = append(parts, render(v))
			}
			return key == "entries"
		}}.Read(string(b))
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if got, want := "["+strings.Join(parts, ", ")+"]", render(whole.Get("entries")); got != want {
			t.Errorf("%s: handed out one by one it holds something else", f)
		}
		if rest.Get("version") != whole.Get("version") || len(whole.Get("pg_config").Items()) == 0 {
			t.Errorf("%s: the rest differs", f)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("\x80\x02}(X\x07\x00\x00\x00entries](}(X\x01\x00\x00\x00aK\x01ueu.")
	f.Add("\x80\x02(ctorch.jit._pickle\nbuild_intlist\n](K\x01K\x02e\x85Rt.")
	f.Fuzz(func(t *testing.T, in string) {
		whole, err := Reader{}.Read(in)
		parts := 0
		_, errParts := Reader{Element: func(string, Value) bool { parts++; return false }}.Read(in)
		if (err == nil) != (errParts == nil) {
			t.Errorf("read at once: %v, in parts: %v", err, errParts)
		}
		if err == nil && whole.Kind() == List && parts > len(whole.Items()) {
			t.Errorf("%d parts of a list of %d", parts, len(whole.Items()))
		}
	})
}

func BenchmarkRead(b *testing.B) {
	data, err := os.ReadFile(samples(b)[0])
	if err != nil {
		b.Fatal(err)
	}
	s := string(data)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Reader{Element: func(string, Value) bool { return true }}).Read(s); err != nil {
			b.Fatal(err)
		}
	}
}
