// Package realtorch holds the engine against logs that no simulator wrote: real PyTorch jobs on the CPU that really
// fail. programs/ is what runs inside, prepare.sh builds the two systems (Debian 12 with PyTorch 1.13, Debian 13 with
// 2.6), and the test behind the build tag "realtorch" runs the jobs on the loopback and diagnoses their logs with the
// built binary:
//
//	integration/realtorch/prepare.sh && go test -tags realtorch -v ./integration/realtorch
package realtorch
