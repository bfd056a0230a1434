package preflight

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// loader finds shared libraries as ld.so does (man 8 ld.so), without loading them: this binary is static, and a library that is loaded
// runs code.
type loader struct {
	path   []string            // LD_LIBRARY_PATH
	cached map[string][]string // of ld.so.cache, by name
}

// usual are where ld.so looks last. Distributions add a directory for each architecture, which the cache has.
var usual = []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib"}

// mostLibraries bounds how many libraries one needs in turn.
const mostLibraries = 500

func newLoader(ctx context.Context) *loader {
	l := &loader{path: filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")), cached: map[string][]string{}}
	for _, program := range []string{"ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"} { // sbin is seldom in the path of a job
		out, err := exec.CommandContext(ctx, program, "-p").Output()
		if err != nil {
			continue
		}
		l.readCache(out)
		break
	}
	return l
}

// readCache reads lines such as "libz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1".
func (l *loader) readCache(out []byte) {
	for line := range bytes.Lines(out) {
		name, path, ok := strings.Cut(strings.TrimSpace(string(line)), " => ")
		if name, _, _ = strings.Cut(name, " "); ok {
			l.cached[name] = append(l.cached[name], path)
		}
	}
}

// machines are what libraries of this binary's architecture state.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "ppc64le": elf.EM_PPC64, "riscv64": elf.EM_RISCV}

// object is a library that was opened.
type object struct {
	path  string
	needs []string
	own   []string // where it says that its needs are
}

// open reads what a library needs.
func (l *loader) open(path string) (object, error) {
	o := object{path: path}
	f, err := elf.Open(path)
	if err != nil {
		return o, err
	}
	defer f.Close()
	if want, known := machines[runtime.GOARCH]; known && f.Machine != want {
		return o, errors.New("it is for " + f.Machine.String())
	}
	if o.needs, err = f.ImportedLibraries(); err != nil {
		return o, err
	}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		list, _ := f.DynString(tag)
		for _, paths := range list {
			for _, p := range filepath.SplitList(paths) {
				o.own = append(o.own, strings.NewReplacer("$ORIGIN", filepath.Dir(path), "${ORIGIN}", filepath.Dir(path)).Replace(p))
			}
		}
	}
	return o, nil
}

// find opens the first library of a name that can be opened. own are the directories that the library which needs it names.
func (l *loader) find(name string, own []string) (object, error) {
	var places []string
	if strings.Contains(name, "/") {
		places = []string{name}
	} else {
		for _, dir := range slices.Concat(l.path, own) {
			places = append(places, filepath.Join(dir, name))
		}
		places = append(places, l.cached[name]...)
		for _, dir := range usual {
			places = append(places, filepath.Join(dir, name))
		}
	}
	worst := os.ErrNotExist
	for _, p := range places {
		o, err := l.open(p)
		if err == nil {
			return o, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			worst = err
		}
	}
	return object{}, worst
}

// library says whether a library could be loaded, with all that it needs.
func (l *loader) library(name string) Library {
	lib := Library{Name: name}
	first, err := l.find(name, nil)
	if errors.Is(err, os.ErrNotExist) {
		lib.Trouble = "not found"
		return lib
	}
	if err != nil {
		lib.Trouble = why(err)
		return lib
	}
	lib.Path, lib.Version = clip(first.path), version(first.path)
	seen := map[string]bool{name: true}
	for queue := []object{first}; len(queue) > 0 && len(seen) < mostLibraries; queue = queue[1:] {
		for _, need := range queue[0].needs {
			if seen[need] {
				continue
			}
			seen[need] = true
			o, err := l.find(need, queue[0].own)
			if err != nil {
				lib.Trouble = clip("it needs " + need + ", which was not found")
				return lib
			}
			queue = append(queue, o)
		}
	}
	return lib
}

// version is what a library's file is called behind ".so.": libnccl.so.2 is a link to libnccl.so.2.21.5.
func version(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	_, v, _ := strings.Cut(filepath.Base(path), ".so.")
	return clip(v)
}

// driverLibrary is what each CUDA program loads.
const driverLibrary = "libcuda.so.1"

func libraries(ctx context.Context, names []string) func(*Facts) {
	_, err := os.Stat("/proc/driver/nvidia/version")
	driver := err == nil && !slices.Contains(names, driverLibrary)
	var list []Library
	if driver || len(names) > 0 {
		l := newLoader(ctx)
		for _, n := range names {
			list = append(list, l.library(n))
		}
		if driver {
			lib := l.library(driverLibrary)
			lib.Implied = true
			list = append(list, lib)
		}
	}
	libc, _ := exec.CommandContext(ctx, "getconf", "GNU_LIBC_VERSION").Output()
	return func(f *Facts) { f.Libraries, f.Libc = list, clip(strings.TrimSpace(string(libc))) }
}
