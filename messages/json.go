package messages

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"faultline/incident"
	"faultline/messages/redact"
)

// JSON writes the report in the form of docs/report.schema.json: indented, maps sorted by key, lists and maps never null
// (but where null means "nobody states it"), redacted, with a newline at the end.
func JSON(w io.Writer, r *incident.Report) error {
	out := redact.Report(r)
	fillLists(reflect.ValueOf(out).Elem())
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("write the report as JSON: %w", err)
	}
	return nil
}

// nullable are the lists whose null has a meaning of its own: nobody states the expected nodes.
var nullable = map[string]bool{"Coverage.NodesExpected": true}

// fillLists replaces nil lists and maps by empty ones: a reader's loop should not need a check for null.
func fillLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		t := v.Type()
		for i := range v.NumField() {
			f := v.Field(i)
			if k := f.Kind(); (k == reflect.Slice || k == reflect.Map) && f.IsNil() {
				switch {
				case nullable[t.Name()+"."+t.Field(i).Name]:
				case k == reflect.Slice:
					f.Set(reflect.MakeSlice(f.Type(), 0, 0))
				default:
					f.Set(reflect.MakeMap(f.Type()))
				}
				continue
			}
			fillLists(f)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fillLists(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			fillLists(v.Index(i))
		}
	}
}
