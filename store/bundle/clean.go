package bundle

import (
	"bytes"
	"encoding/json"
	"reflect"

	"faultline/messages/redact"
)

// clean redacts every text of an incident, whatever member it stands in, and turns missing lists into empty ones: a
// reader's loop should not need a check for null.
func (inc *Incident) clean() {
	v := reflect.ValueOf(inc).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			cleanValue(v.Field(i))
		}
	}
}

func cleanValue(v reflect.Value) {
	if raw, ok := v.Interface().(json.RawMessage); ok {
		v.Set(reflect.ValueOf(cleanJSON(raw)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(redact.String(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				cleanValue(v.Field(i))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			cleanValue(v.Elem())
		}
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len()) // the old one belongs to somebody else
		reflect.Copy(list, v)
		v.Set(list)
		for i := range v.Len() {
			cleanValue(v.Index(i))
		}
	}
}

// cleanJSON redacts the texts of a message; null for what is no JSON.
func cleanJSON(raw json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil {
		return json.RawMessage("null")
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(cleanTree(tree)) != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSpace(out.Bytes())
}

func cleanTree(v any) any {
	switch v := v.(type) {
	case string:
		return redact.String(v)
	case []any:
		for i := range v {
			v[i] = cleanTree(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = cleanTree(v[k])
		}
	}
	return v
}
