package worker

import "reflect"

// Filter returns the observations whose place satisfies keep. Every list whose elements embed At, or have a method of that
// name, is filtered, so that a new kind of observation cannot be forgotten here. Tails and NCCL describe whole
// files and stay as they are.
func (o *Observations) Filter(keep func(At) bool) *Observations {
	out := *o
	v := reflect.ValueOf(&out).Elem()
	for _, field := range v.Fields() {
		if field.Kind() != reflect.Slice || field.Len() == 0 {
			continue
		}
		if elem := field.Type().Elem(); elem.Kind() == reflect.Slice { // of each file
			lists := reflect.MakeSlice(field.Type(), 0, field.Len())
			for j := range field.Len() {
				if kept := filtered(field.Index(j), headerOf(elem.Elem()), keep); kept.Len() > 0 {
					lists = reflect.Append(lists, kept)
				}
			}
			field.Set(lists)
			continue
		}
		if at := headerOf(field.Type().Elem()); at != nil {
			field.Set(filtered(field, at, keep))
		}
	}
	return &out
}

// filtered is the list itself where all of it is kept, else a copy of no more than that.
func filtered(list reflect.Value, at func(reflect.Value) *At, keep func(At) bool) reflect.Value {
	kept, n := make([]bool, list.Len()), 0
	for i := range kept {
		if kept[i] = keep(*at(list.Index(i))); kept[i] {
			n++
		}
	}
	if n == len(kept) {
		return list
	}
	out := reflect.MakeSlice(list.Type(), n, n)
	for i, to := 0, 0; i < len(kept); i++ {
		if kept[i] {
			out.Index(to).Set(list.Index(i))
			to++
		}
	}
	return out
}

// headerOf finds the At of observations of a type; it is nil where they have none.
func headerOf(t reflect.Type) func(reflect.Value) *At {
	if t.Kind() != reflect.Struct {
		return nil
	}
	if field, has := t.FieldByName("At"); has {
		return func(v reflect.Value) *At { return v.FieldByIndex(field.Index).Addr().Interface().(*At) }
	}
	type header interface{ At() At }
	if reflect.PointerTo(t).Implements(reflect.TypeFor[header]()) {
		return func(v reflect.Value) *At {
			at := v.Addr().Interface().(header).At()
			return &at
		}
	}
	return nil
}
