package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// maxFile bounds a configuration file and a file that a value points to.
const maxFile = 1 << 20

// Load reads, expands and validates a file. Errors name the file and the line.
func Load(file string) (Config, error) {
	raw, err := readSmall(file)
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	return Parse(file, raw, os.LookupEnv)
}

// Parse is Load on bytes; the file name is for errors, lookup is the environment.
func Parse(file string, raw []byte, lookup func(string) (string, bool)) (Config, error) {
	c := Default()
	err := yaml.NewDecoder(bytes.NewReader(raw), yaml.Strict()).Decode(&c)
	if err != nil && !errors.Is(err, io.EOF) { // EOF: an empty file is all defaults
		return Config{}, explain(file, err)
	}
	c.fill()
	where := lines(raw)
	var errs []error
	for _, err := range expand(reflect.ValueOf(&c).Elem(), "", lookup) {
		errs = append(errs, locate(file, where, err))
	}
	if len(errs) == 0 {
		if err := c.Validate(); err != nil {
			for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
				errs = append(errs, locate(file, where, e))
			}
		}
	}
	if len(errs) > 0 {
		return Config{}, errors.Join(errs...)
	}
	return c, nil
}

// explain turns an error of the YAML reader into file:line and, for an unknown key, what was probably meant.
func explain(file string, err error) error {
	var positioned yaml.Error
	if !errors.As(err, &positioned) || positioned.GetToken() == nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	tok := positioned.GetToken()
	at := fmt.Sprintf("%s:%d", file, tok.Position.Line)
	if strings.HasPrefix(positioned.GetMessage(), "unknown field") {
		return fmt.Errorf("%s: unknown key %q%s", at, tok.Value, didYouMean(tok.Value, keyNames(reflect.TypeFor[Config]())))
	}
	return fmt.Errorf("%s: %s", at, positioned.GetMessage())
}

// locate puts file:line in front of a field's error, as far as the file states that field.
func locate(file string, where func(path string) int, err error) error {
	var field *FieldError
	if errors.As(err, &field) {
		if line := where(field.Path); line > 0 {
			return fmt.Errorf("%s:%d: %w", file, line, err)
		}
	}
	return fmt.Errorf("%s: %w", file, err)
}

// lines finds the line of a field by its dotted path; 0 if the file does not state it.
func lines(raw []byte) func(string) int {
	tree, err := parser.ParseBytes(raw, 0)
	return func(path string) int {
		if err != nil {
			return 0
		}
		p, perr := yaml.PathString("$." + path)
		if perr != nil {
			return 0
		}
		node, nerr := p.FilterFile(tree)
		if nerr != nil || node == nil || node.GetToken() == nil {
			return 0
		}
		return node.GetToken().Position.Line
	}
}

// keyNames lists the keys of a struct and of the structs in it.
func keyNames(t reflect.Type) []string {
	var names []string
	for _, path := range paths(t, "") {
		names = append(names, path[strings.LastIndexByte(path, '.')+1:])
	}
	return names
}

// paths lists the dotted paths of all keys, sections included; of a list, those of its first item.
func paths(t reflect.Type, prefix string) []string {
	var list []string
	for i := range t.NumField() {
		f := t.Field(i)
		path := prefix + f.Tag.Get("yaml")
		list = append(list, path)
		switch {
		case f.Type.Kind() == reflect.Struct:
			list = append(list, paths(f.Type, path+".")...)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			list = append(list, paths(f.Type.Elem(), path+"[0].")...)
		}
	}
	return list
}

// didYouMean is a hint at the nearest known name, or "".
func didYouMean(got string, known []string) string {
	best, distance := "", len(got)/2+1
	for _, k := range known {
		if d := editDistance(strings.ToLower(got), k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// editDistance is Levenshtein's.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

func readSmall(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", file, maxFile)
	}
	return raw, nil
}
