package worker

import (
	"bytes"
	"reflect"
	"testing"
)

// checkPlaces holds every observation to its position: inside the content, in the line it names, not across a \n unless
// lines were joined, and at least as long as what it quotes.
func checkPlaces(t testing.TB, text string, obs *Observations) {
	t.Helper()
	content := []byte(text)
	v := reflect.ValueOf(obs).Elem()
	for i := range v.NumField() {
		list := v.Field(i)
		if list.Kind() != reflect.Slice || v.Type().Field(i).Name == "Tails" || v.Type().Field(i).Name == "NCCL" {
			continue
		}
		if list.Type().Elem().Kind() == reflect.Slice { // of each file
			one := reflect.MakeSlice(list.Type().Elem(), 0, 0)
			for j := range list.Len() {
				one = reflect.AppendSlice(one, list.Index(j))
			}
			list = one
		}
		for j := range list.Len() {
			p := list.Index(j).Addr().Interface().(interface{ place() *Pos }).place()
			if p.Off < 0 || p.Len < 0 || p.Off+int64(p.Len) > int64(len(content)) {
				t.Fatalf("%s %d: [%d, +%d) outside the content of %d bytes", v.Type().Field(i).Name, j, p.Off, p.Len, len(content))
			}
			if no := int64(bytes.Count(content[:p.Off], []byte("\n"))) + 1; no != p.Line {
				t.Fatalf("%s %d: line %d, but offset %d is in line %d", v.Type().Field(i).Name, j, p.Line, p.Off, no)
			}
			if n := bytes.Count(content[p.Off:p.Off+int64(p.Len)], []byte("\n")); n > maxWrapped {
				t.Fatalf("%s %d: spans %d lines", v.Type().Field(i).Name, j, n+1)
			}
		}
	}
	for _, u := range obs.Unclassified {
		if !bytes.Contains(content[u.Off:u.Off+int64(u.Len)], []byte("\x1b")) && len(u.Text) > u.Len {
			t.Fatalf("unclassified text %q longer than its place", u.Text)
		}
	}
}
