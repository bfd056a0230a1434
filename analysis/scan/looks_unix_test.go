//go:build unix

package scan

import (
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
)

// A look behind the end of the text would be one into memory that may not be read.
func TestLooksStayInTheText(t *testing.T) {
	page := os.Getpagesize()
	const pages = 8
	mem, err := syscall.Mmap(-1, 0, (pages+1)*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip(err)
	}
	defer syscall.Munmap(mem)
	if err := syscall.Mprotect(mem[pages*page:], syscall.PROT_NONE); err != nil {
		t.Skip(err)
	}
	room := mem[:pages*page]
	copy(room, looksText(rand.New(rand.NewPCG(5, 6)), len(room)))
	for _, f := range filters(t) {
		for n := range 300 {
			sameLooks(t, f, room[len(room)-n:])
		}
		for n := stretch*f.stride - 300; n < stretch*f.stride+300; n++ {
			sameLooks(t, f, room[len(room)-n:])
		}
		for from := range 200 {
			f.collect(nil, room, from, len(room))
		}
	}
}
