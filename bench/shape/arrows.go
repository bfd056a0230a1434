package main

import (
	"go/ast"
	"go/types"
	"slices"
)

// graph says which file of a package uses what another declares: functions, methods, types, variables, constants and fields.
type graph map[string]map[string]bool

func arrows(s *source) graph {
	g := graph{}
	for _, f := range s.files {
		from := s.fset.Position(f.Pos()).Filename
		g[from] = map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if o := s.info.Uses[id]; o != nil && o.Pkg() == s.pkg && shared(o) {
				if to := s.fset.Position(o.Pos()).Filename; to != from {
					g[from][to] = true
				}
			}
			return true
		})
	}
	return g
}

// shared says whether an object is declared for the whole package: at its top, or as a method. Fields are left out: they lie where their
// struct lies, and the struct is named.
func shared(o types.Object) bool {
	if _, ok := o.(*types.Func); ok {
		return true
	}
	return o.Parent() == o.Pkg().Scope()
}

// count returns the arrows, those that lie on a circle (both ends are in one strongly connected set), and those that run back against the
// best order of files that a greedy search finds (Eades, Lin and Smyth).
func (g graph) count() (all, circle, back int) {
	set := g.components()
	place := map[string]int{}
	for i, f := range g.order() {
		place[f] = i
	}
	for a, to := range g {
		for b := range to {
			all++
			if set[a] == set[b] {
				circle++
			}
			if place[a] > place[b] { // users stand before what they use
				back++
			}
		}
	}
	return all, circle, back
}

func (g graph) nodes() []string {
	var out []string
	for f := range g {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

// components numbers the strongly connected sets (Tarjan).
func (g graph) components() map[string]int {
	index, low, set := map[string]int{}, map[string]int{}, map[string]int{}
	var stack []string
	on := map[string]bool{}
	sets := 0
	var visit func(string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack, on[v] = append(stack, v), true
		for w := range g[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], index[w])
			}
		}
		for low[v] == index[v] {
			w := stack[len(stack)-1]
			stack, on[w], set[w] = stack[:len(stack)-1], false, sets
			if w == v {
				sets++
				return
			}
		}
	}
	for _, v := range g.nodes() {
		if index[v] == 0 {
			visit(v)
		}
	}
	return set
}

// order puts users before what they use, as far as that goes: whoever uses nothing goes to the end, whoever is used by nobody to the
// beginning, and of the others the one with the most arrows forward over those back.
func (g graph) order() []string {
	left := g.nodes()
	var head, tail []string
	for len(left) > 0 {
		best, most, end := 0, -1<<30, false
		for i, v := range left {
			out, in := 0, 0
			for _, w := range left {
				if g[v][w] {
					out++
				}
				if g[w][v] {
					in++
				}
			}
			switch {
			case out == 0 && !end:
				best, most, end = i, 1<<30, true
			case in == 0 && !end && most < 1<<29:
				best, most = i, 1<<29
			case out-in > most:
				best, most = i, out-in
			}
		}
		if end {
			tail = append(tail, left[best])
		} else {
			head = append(head, left[best])
		}
		left = slices.Delete(left, best, best+1)
	}
	slices.Reverse(tail)
	return append(head, tail...)
}
