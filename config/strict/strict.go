// Package strict reads YAML that people write: unknown keys and values of another type are refused with file and line, and with what was
// probably meant.
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// maxFile bounds a file.
const maxFile = 1 << 20

// Decode reads a file's bytes into what a pointer leads to; the file name is for errors. An empty file changes nothing.
func Decode(file string, raw []byte, into any) (err error) {
	defer func() {
		if p := recover(); p != nil { // of the library, on tags that do not fit: a running program that reads a file again must not end
			err = fmt.Errorf("%s: not readable as YAML: %v", file, p)
		}
	}()
	err = yaml.NewDecoder(bytes.NewReader(raw), yaml.Strict()).Decode(into)
	if err != nil && !errors.Is(err, io.EOF) {
		return explain(file, into, err)
	}
	return single(file, raw)
}

// single refuses a second document in a file: the reader of YAML takes the first and says nothing of those behind it.
func single(file string, raw []byte) error {
	tree, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	first := true
	for _, doc := range tree.Docs {
		switch {
		case doc.Body == nil: // comments, or a line of dashes at the end
		case first:
			first = false
		default:
			return fmt.Errorf("%s:%d: a second document begins here; a file may hold only one", file, doc.Body.GetToken().Position.Line)
		}
	}
	return nil
}

// explain turns an error of the YAML reader into file:line and, for an unknown key, what was probably meant.
func explain(file string, into any, err error) error {
	var positioned yaml.Error
	if !errors.As(err, &positioned) || positioned.GetToken() == nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	tok := positioned.GetToken()
	at := fmt.Sprintf("%s:%d", file, tok.Position.Line)
	if strings.HasPrefix(positioned.GetMessage(), "unknown field") {
		names := keyNames(reflect.TypeOf(into).Elem())
		if slices.Contains(names, tok.Value) {
			return fmt.Errorf("%s: the key %q does not belong here", at, tok.Value)
		}
		return fmt.Errorf("%s: unknown key %q%s", at, tok.Value, DidYouMean(tok.Value, names))
	}
	return fmt.Errorf("%s: %s", at, positioned.GetMessage())
}

// Lines finds the line of a field by its dotted path; 0 if the file does not state it.
func Lines(raw []byte) func(string) int {
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
	for _, path := range Paths(t, "") {
		names = append(names, path[strings.LastIndexByte(path, '.')+1:])
	}
	return names
}

// Paths lists the dotted paths of all keys, sections included; of a list, those of its first item.
func Paths(t reflect.Type, prefix string) []string {
	var list []string
	for i := range t.NumField() {
		f := t.Field(i)
		path := prefix + f.Tag.Get("yaml")
		list = append(list, path)
		switch {
		case f.Type.Kind() == reflect.Struct:
			list = append(list, Paths(f.Type, path+".")...)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			list = append(list, Paths(f.Type.Elem(), path+"[0].")...)
		}
	}
	return list
}

// DidYouMean is a hint at the nearest known name, or "".
func DidYouMean(got string, known []string) string {
	if near := Nearest(got, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// minPrefix is how many letters of a longer name are enough to mean it.
const minPrefix = 3

// Nearest is the known name that somebody who wrote another one most likely meant, or "".
func Nearest(got string, known []string) string {
	got = strings.ToLower(got)
	best, distance := "", len(got)/2+1
	for _, k := range known {
		d := editDistance(got, k)
		if len(got) >= minPrefix && strings.HasPrefix(k, got) {
			d = 1
		}
		if d < distance {
			best, distance = k, d
		}
	}
	return best
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

// ReadRegular is Read for what can be read again later: a pipe without a writer, or a device, would never end.
func ReadRegular(file string) ([]byte, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	return Read(file)
}

// Read reads a small file.
func Read(file string) ([]byte, error) {
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
