// Package evidence holds the readers of evidence beside the logs against the tools that write it, where Debian has them: what they print
// here and now is handed to the built binary, and what it says of it is held to what was done to them. Behind the build tag
// "realevidence":
//
//	integration/evidence/prepare.sh && go test -tags realevidence -v ./integration/evidence
//
// The network's tools run in two network namespaces joined by a pair of interfaces; nothing else is touched. infiniband-diags, perftest and
// nccl-tests need hardware: their text comes from references (simulate/fabric, the readers' testdata).
package evidence
