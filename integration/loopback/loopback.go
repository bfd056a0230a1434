// Package loopback gives servers of tests addresses that stay theirs.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Address returns an address of the loopback network that nothing listens on, and that nothing else takes while the
// test's server is away (not started yet, or killed and started again). A port that the kernel chose on 127.0.0.1 does
// not keep that promise: it is one of those that connections go out from, and any other test's may be given it. So each
// test gets a host of its own within 127.0.0.0/8 where the system has them all (Linux), and 127.0.0.1 elsewhere.
func Address(t testing.TB) string {
	t.Helper()
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
