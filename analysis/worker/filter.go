package worker

import "reflect"

// Filter returns the observations whose place satisfies keep. Every list whose elements embed At, or have a method of that
// name, is filtered, so that a new kind of observation cannot be forgotten here. Tails and NCCL describe whole
// files and stay as they are.
func (o *Observations) Filter(keep func(At) bool) *Observations {
	out := *o
	v := reflect.ValueOf(&out).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Kind() != reflect.Slice || field.Len() == 0 {
			continue
		}
		at := headerOf(field.Type().Elem())
		if at == nil {
			continue
		}
		kept := reflect.MakeSlice(field.Type(), 0, field.Len())
		for j := range field.Len() {
			if keep(at(field.Index(j))) {
				kept = reflect.Append(kept, field.Index(j))
			}
		}
		field.Set(kept)
	}
	return &out
}

// headerOf finds the At of observations of a type; it is nil where they have none.
func headerOf(t reflect.Type) func(reflect.Value) At {
	if t.Kind() != reflect.Struct {
		return nil
	}
	if _, has := t.FieldByName("At"); has {
		return func(v reflect.Value) At { return v.FieldByName("At").Interface().(At) }
	}
	type header interface{ At() At }
	if reflect.PointerTo(t).Implements(reflect.TypeFor[header]()) {
		return func(v reflect.Value) At { return v.Addr().Interface().(header).At() }
	}
	return nil
}
