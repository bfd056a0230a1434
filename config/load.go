package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"

	"faultline/config/strict"
)

// Load reads, expands and validates a file. Errors name the file and the line.
func Load(file string) (Config, error) {
	raw, err := strict.Read(file)
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	return Parse(file, raw, os.LookupEnv)
}

// Parse is Load on bytes; the file name is for errors, lookup is the environment.
func Parse(file string, raw []byte, lookup func(string) (string, bool)) (Config, error) {
	c := Default()
	if err := strict.Decode(file, raw, &c); err != nil {
		return Config{}, err
	}
	c.fill()
	where := strict.Lines(raw)
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
