package login

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"faultline/fetch/source/internal/tree"
)

const (
	// rounds is how often a way is looked at on which others may exchange names: guessing the order of so many looks succeeds less than
	// once in 10^9 times.
	rounds = 20
	// together is how many looks are under way: the server answers them without a pause in between.
	together = 16
)

// steady says that a file of an account lies where a way leads, and in no place that a directory on the way was exchanged for. Every path
// is resolved anew by the server, so whoever may exchange names shows a directory to one look and a link to the next. Where only root
// and the file's owner may, one look at each directory is enough. Else the directories have to be directories, and the file that of its
// owner, in many looks whose order nobody can foresee.
func steady(ctx context.Context, disk tree.FS, way tree.Way, account int64) bool {
	dirs, open := way.Dirs(), false
	for _, name := range dirs {
		dir, err := disk.Lstat(name)
		if err != nil || !dir.Mode.IsDir() {
			return false
		}
		open = open || exchangeable(dir, account)
	}
	if !open {
		return true
	}
	var names []string
	for range rounds {
		names = append(append(names, dirs...), way.Real)
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var next atomic.Int64
	var moved atomic.Bool
	var all sync.WaitGroup
	for range together {
		all.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(names) && !moved.Load() && ctx.Err() == nil; i = next.Add(1) - 1 {
				e, err := disk.Lstat(names[i])
				file := names[i] == way.Real
				if err != nil || file && !(e.Mode.IsRegular() && e.Account == account) || !file && !e.Mode.IsDir() {
					moved.Store(true)
				}
			}
		})
	}
	all.Wait()
	return !moved.Load() && ctx.Err() == nil
}

// exchangeable says that somebody beside root and an account may exchange names in a directory. In a sticky one only their owner may,
// and whose the next name is, the next look says.
func exchangeable(dir tree.Entry, account int64) bool {
	shared := dir.Mode.Perm()&0o022 != 0 && dir.Mode&fs.ModeSticky == 0
	return shared || dir.Account != 0 && dir.Account != account
}
