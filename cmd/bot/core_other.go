//go:build !unix

package main

func noCore() error { return nil }
