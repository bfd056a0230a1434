package redact

import (
	"reflect"
	"sort"

	"faultline/incident"
)

// Report returns a deep copy of r with every string redacted and sanitised, whatever field it stands in: the walk is by
// reflection, so that a field added tomorrow is covered today. r itself is not touched.
func Report(r *incident.Report) *incident.Report { return copied(r, String) }

// copied is a deep copy in which every string is what mask makes of it.
func copied(r *incident.Report, mask func(string) string) *incident.Report {
	if r == nil {
		return nil
	}
	w := walker{seen: make(map[string]string), mask: mask}
	out := w.copyOf(reflect.ValueOf(*r)).Interface().(incident.Report)
	return &out
}

// walker remembers what it has redacted: node names and roles repeat by the ten thousand.
type walker struct {
	seen map[string]string
	mask func(string) string
}

func (w *walker) text(s string) string {
	t, ok := w.seen[s]
	if !ok {
		t = w.mask(s)
		w.seen[s] = t
	}
	return t
}

func (w *walker) copyOf(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(w.text(v.String()))
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(w.copyOf(v.Field(i)))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(w.copyOf(v.Elem()))
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(w.copyOf(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(w.copyOf(v.Index(i)))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(w.copyOf(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(w.copyMap(v))
		}
	default:
		out.Set(v)
	}
	return out
}

// copyMap redacts keys too: file names are keys. Where two keys become one, numbers add up (they are counts); of other
// values the one with the smallest original key stays, so that the result does not depend on the map's order.
func (w *walker) copyMap(v reflect.Value) reflect.Value {
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	keys := v.MapKeys()
	if v.Type().Key().Kind() == reflect.String {
		sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	}
	for _, k := range keys {
		nk, nv := w.copyOf(k), w.copyOf(v.MapIndex(k))
		if old := out.MapIndex(nk); old.IsValid() {
			if !nv.CanInt() {
				continue
			}
			sum := reflect.New(nv.Type()).Elem()
			sum.SetInt(old.Int() + nv.Int())
			nv = sum
		}
		out.SetMapIndex(nk, nv)
	}
	return out
}
