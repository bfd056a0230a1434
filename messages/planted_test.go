package messages

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/messages/redact"
	"faultline/simulate/secrets"
)

// plantIn puts a text behind every sentence of a report, and into the names of its nodes.
func plantIn(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if strings.Contains(v.String(), " ") {
			v.SetString(v.String() + " " + text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			plantIn(v.Field(i), text)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			plantIn(v.Elem(), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			plantIn(v.Index(i), text)
		}
	}
}

func pictureOf(t *testing.T, r *incident.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := RankMapPNG(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPlantedSecretsAreInNoForm plants secrets in a report and looks for them in every form that it takes: files, messages, alternative
// texts. The picture is compared: its text is that of the masked report.
func TestPlantedSecretsAreInNoForm(t *testing.T) {
	const most = 40
	planted := 0
	all := secrets.All(9)
	for i := 0; i < len(all) && planted < most; i += len(all) / (2 * most) {
		f := all[i]
		if f.Leaks(redact.String("It failed. "+f.Text)) != "" || strings.Contains(f.Text, "\n") {
			continue // the rate of such is measured elsewhere; a sentence has one line
		}
		planted++
		r := gpuOOM()
		plantIn(reflect.ValueOf(r), f.Text)
		for n := range r.Groups {
			for k := range r.Groups[n].Ranks {
				r.Groups[n].Ranks[k].Node = f.Text
			}
		}
		r.Verdict.Root.Nodes = []string{f.Text}
		shown := map[string]string{}
		for _, form := range formats {
			shown[form.ext] = render(t, form, r)
		}
		for name, v := range thread(r) {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			shown[name] = string(raw)
		}
		title, alt := RankMapCaption(r)
		shown["caption"], shown["alternative text"] = title, alt
		masks := 0
		for name, text := range shown {
			if p := f.Leaks(text); p != "" {
				t.Errorf("%s: %s shows %q of %q", f.Name(), name, p, f.Text)
			}
			masks += strings.Count(text, redact.Mask)
		}
		if masks == 0 {
			t.Errorf("%s: nothing is masked in %d forms", f.Name(), len(shown))
		}
		if planted%8 == 1 && !bytes.Equal(pictureOf(t, r), pictureOf(t, redact.Report(r))) {
			t.Errorf("%s: the picture is not that of the masked report", f.Name())
		}
	}
	if planted < most {
		t.Errorf("only %d were planted", planted)
	}
}
