package verify

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"faultline/incident"
)

type place struct {
	path     string
	evidence incident.Evidence
}

var evidenceType = reflect.TypeFor[incident.Evidence]()

// walk finds every Evidence below v by its type, so that a new place in the report cannot be forgotten here.
func walk(v reflect.Value, path string, out []place) []place {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			out = walk(v.Elem(), path, out)
		}
	case reflect.Slice, reflect.Array:
		if !mayHold(v.Type().Elem()) {
			break
		}
		for i := range v.Len() {
			out = walk(v.Index(i), path+"["+strconv.Itoa(i)+"]", out)
		}
	case reflect.Map:
		if !mayHold(v.Type().Elem()) {
			break
		}
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[j]) })
		for _, k := range keys {
			out = walk(v.MapIndex(k), fmt.Sprintf("%s[%q]", path, fmt.Sprint(k)), out)
		}
	case reflect.Struct:
		if v.Type() == evidenceType {
			return append(out, place{path, v.Interface().(incident.Evidence)})
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || !mayHold(f.Type) {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			if path != "" {
				name = path + "." + name
			}
			out = walk(v.Field(i), name, out)
		}
	}
	return out
}

var evidencesType = reflect.TypeFor[[]incident.Evidence]()

// bare finds every statement that must carry evidence (its list is not optional in the JSON) and has none.
func bare(v reflect.Value, path string, out []string) []string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out = bare(v.Elem(), path, out)
		}
	case reflect.Slice:
		if !mayHold(v.Type().Elem()) {
			break
		}
		for i := range v.Len() {
			out = bare(v.Index(i), path+"["+strconv.Itoa(i)+"]", out)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Type == evidencesType {
				if v.Field(i).Len() == 0 && !strings.Contains(options, "omitempty") {
					out = append(out, path)
				}
				continue
			}
			if !f.IsExported() || !mayHold(f.Type) {
				continue
			}
			if path != "" {
				name = path + "." + name
			}
			out = bare(v.Field(i), name, out)
		}
	}
	return out
}

// mayHold spares the walk values of plain types.
func mayHold(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return mayHold(t.Elem())
	case reflect.Struct, reflect.Interface:
		return true
	}
	return false
}

// key writes a value so that two values have the same key only if they are equal. (JSON would not do: it writes every
// invalid byte the same way.)
func key(v any) string { return string(appendKey(nil, reflect.ValueOf(v))) }

func appendKey(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		b = slices.Grow(b, v.Len()+2) // AppendQuote itself grows by just what it needs: a copy for each of thousands
		return strconv.AppendQuote(b, v.String())
	case reflect.Int, reflect.Int64:
		return append(strconv.AppendInt(b, v.Int(), 10), ' ')
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, '~')
		}
		return appendKey(b, v.Elem())
	case reflect.Slice:
		b = append(b, '[')
		for i := range v.Len() {
			b = appendKey(b, v.Index(i))
		}
		return append(b, ']')
	case reflect.Struct:
		b = append(b, '{')
		for i := range v.NumField() {
			b = appendKey(b, v.Field(i))
		}
		return append(b, '}')
	}
	return fmt.Appendf(b, "%#v ", v.Interface())
}
