//go:build !amd64

package scan

func (f *filter) take(b []byte, n int, met *[stretch / 64]uint64) int { return f.takeEach(b, n, met) }
