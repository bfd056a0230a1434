package config

import (
	"fmt"
	"reflect"
	"strings"

	"faultline/config/strict"
)

// expand replaces, in every string of the value, ${NAME} and ${NAME:-default} by the environment, and then a whole value
// "file:PATH" by the content of that file without its final line end. This happens after parsing: what the environment
// holds is never read as YAML. "$${" stands for a literal "${".
func expand(v reflect.Value, path string, lookup func(string) (string, bool)) []error {
	var errs []error
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Tag.Get("yaml")
			if path != "" {
				name = path + "." + name
			}
			errs = append(errs, expand(v.Field(i), name, lookup)...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			errs = append(errs, expand(v.Index(i), fmt.Sprintf("%s[%d]", path, i), lookup)...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			s, err := expandString(v.MapIndex(key).String(), lookup)
			if err != nil {
				errs = append(errs, &FieldError{Path: path, Msg: err.Error()})
				continue
			}
			v.SetMapIndex(key, reflect.ValueOf(s))
		}
	case reflect.String:
		s, err := expandString(v.String(), lookup)
		if err != nil {
			return []error{&FieldError{Path: path, Msg: err.Error()}}
		}
		v.SetString(s)
	}
	return errs
}

func expandString(s string, lookup func(string) (string, bool)) (string, error) {
	var out strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			out.WriteString(s)
			break
		}
		if i > 0 && s[i-1] == '$' {
			out.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return "", fmt.Errorf("%q has no closing brace", s[i:])
		}
		name, fallback, hasFallback := strings.Cut(s[i+2:i+end], ":-")
		value, ok := lookup(name)
		switch {
		case ok && (value != "" || !hasFallback):
		case hasFallback:
			value = fallback
		default:
			return "", fmt.Errorf("the environment variable %s is not set; set it or write ${%s:-default}", name, name)
		}
		out.WriteString(s[:i] + value)
		s = s[i+end+1:]
	}
	file, ok := strings.CutPrefix(out.String(), "file:")
	if !ok {
		return out.String(), nil
	}
	raw, err := strict.Read(file)
	if err != nil {
		return "", fmt.Errorf("reading the value from the file: %w", err)
	}
	return strings.TrimRight(string(raw), "\r\n"), nil
}
