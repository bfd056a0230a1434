package config

import (
	"bytes"
	"fmt"
	"os"
	"reflect"

	"github.com/goccy/go-yaml"

	"faultline/config/strict"
)

// Exposed returns a sentence where a configuration file holds secrets and others on the machine may read it; "" else. Values that are
// read from the environment are not in the file.
func Exposed(file string) string {
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm()&0o044 == 0 {
		return ""
	}
	raw, err := strict.Read(file)
	if err != nil {
		return ""
	}
	var c Config
	if yaml.NewDecoder(bytes.NewReader(raw)).Decode(&c) != nil || !holdsSecret(reflect.ValueOf(c)) {
		return ""
	}
	who := "everybody"
	if st.Mode().Perm()&0o004 == 0 {
		who = "its group"
	}
	return fmt.Sprintf("%s holds secrets and %s on this machine may read it (mode %03o): chmod 600 %s, or read them from the environment.", file, who, st.Mode().Perm(), file)
}

// holdsSecret looks for a Secret with a value of its own, before anything is expanded.
func holdsSecret(v reflect.Value) bool {
	if s, ok := v.Interface().(Secret); ok {
		none := func(string) (string, bool) { return "", true }
		bare, err := expandString(string(s), none)
		return err == nil && bare != ""
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && holdsSecret(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if holdsSecret(v.Index(i)) {
				return true
			}
		}
	case reflect.Pointer:
		return !v.IsNil() && holdsSecret(v.Elem())
	}
	return false
}
