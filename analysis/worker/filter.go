package worker

import "reflect"

// Filter returns the observations whose place satisfies keep. Every list whose elements embed At is filtered, so that a
// new kind of observation cannot be forgotten here. Tails describe whole files and stay as they are.
func (o *Observations) Filter(keep func(At) bool) *Observations {
	out := *o
	v := reflect.ValueOf(&out).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Kind() != reflect.Slice || field.Len() == 0 {
			continue
		}
		if _, has := field.Type().Elem().FieldByName("At"); !has {
			continue
		}
		kept := reflect.MakeSlice(field.Type(), 0, field.Len())
		for j := range field.Len() {
			if keep(field.Index(j).FieldByName("At").Interface().(At)) {
				kept = reflect.Append(kept, field.Index(j))
			}
		}
		field.Set(kept)
	}
	return &out
}
