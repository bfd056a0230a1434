package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"faultline/knowledge"
)

// names are the ids of signatures and the slugs of mechanisms. Those without a hyphen ("exception", "unknown") are ordinary words, which
// the code uses for other things as well: they are left out.
type names map[string]bool

func known() names {
	n := names{}
	for _, s := range knowledge.Whole().Signatures() {
		n.add(string(s.ID))
	}
	for _, s := range knowledge.Readings() {
		n.add(string(s.ID))
	}
	for _, m := range knowledge.Mechanisms() {
		n.add(string(m.Slug))
	}
	return n
}

func (n names) add(name string) {
	if strings.Contains(name, "-") {
		n[name] = true
	}
}

// prefix says whether names begin with it: "slurm-".
func (n names) prefix(p string) bool {
	if !strings.HasSuffix(p, "-") {
		return false
	}
	for name := range n {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// uses counts where a package names ids and slugs.
type uses struct {
	maps        places // map literals in which at least half of the keys are names
	lists       places // literals of two and more strings that are all names
	comparisons places // ==, !=, each name of a case, and strings.HasPrefix with the beginning of names
}

// places are where something is counted, as file:line:column.
type places []string

func (p *places) add(s *source, n ast.Node) { *p = append(*p, s.fset.Position(n.Pos()).String()) }

func (n names) in(s *source) (u uses) {
	value := func(e ast.Expr) string {
		if other(s.info.TypeOf(e)) {
			return ""
		}
		return text(s, e)
	}
	for _, f := range s.files {
		ast.Inspect(f, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.CompositeLit:
				n.literal(s, node, &u)
			case *ast.BinaryExpr:
				if (node.Op == token.EQL || node.Op == token.NEQ) && (n[value(node.X)] || n[value(node.Y)]) {
					u.comparisons.add(s, node)
				}
			case *ast.CaseClause:
				for _, e := range node.List {
					if n[value(e)] {
						u.comparisons.add(s, e)
					}
				}
			case *ast.CallExpr:
				if sel, ok := node.Fun.(*ast.SelectorExpr); ok && len(node.Args) == 2 && (sel.Sel.Name == "HasPrefix" || sel.Sel.Name == "CutPrefix") && n.prefix(value(node.Args[1])) {
					u.comparisons.add(s, node)
				}
			}
			return true
		})
	}
	return u
}

func (n names) literal(s *source, lit *ast.CompositeLit, u *uses) {
	if len(lit.Elts) == 0 {
		return
	}
	hits := 0
	switch s.info.TypeOf(lit).Underlying().(type) {
	case *types.Map:
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && n[text(s, kv.Key)] {
				hits++
			}
		}
		if 2*hits >= len(lit.Elts) {
			u.maps.add(s, lit)
		}
	case *types.Slice, *types.Array:
		for _, e := range lit.Elts {
			if n[text(s, e)] {
				hits++
			}
		}
		if hits == len(lit.Elts) && hits > 1 {
			u.lists.add(s, lit)
		}
	}
}

// other says that a type holds words of its own, neither ids nor slugs: the end of a job that a scheduler states is called "node-failure" as
// a mechanism is.
func other(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() != module+"knowledge"
}

// text is the value of a constant string, of whatever type, named or written out; "" for all else.
func text(s *source, e ast.Expr) string {
	if v := s.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}
