// Package installed holds tests that install the binary as the documents say, the image without a container engine among them,
// and run it as the account that it gets there.
package installed
