// Package host holds tests that run the real binary on a host that fails it: disks that fill, freeze or vanish, a store that
// is locked or gone, a bucket that refuses.
package host
