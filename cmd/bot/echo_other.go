//go:build !linux

package main

// echo cannot keep a terminal from showing what is typed here.
func echo(any) func(bool) { return nil }
