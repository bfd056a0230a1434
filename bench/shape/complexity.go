package main

import (
	"go/ast"
	"go/token"
)

// cognitive is the cognitive complexity of a function as gocognit counts it: one for each branch and loop and one more for each level
// that it is nested in, one for each else, each jump to a label, each call of itself, and each run of the same && or ||.
func cognitive(f *ast.FuncDecl) int {
	c := &counter{name: f.Name.Name, method: f.Recv != nil, elseIf: map[*ast.IfStmt]bool{}, seen: map[ast.Expr]bool{}}
	ast.Walk(c, f.Body)
	return c.n
}

type counter struct {
	name     string
	method   bool
	n, depth int
	elseIf   map[*ast.IfStmt]bool
	seen     map[ast.Expr]bool // operands of a run that is counted
}

func (c *counter) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.IfStmt:
		c.branch(n)
		return nil
	case *ast.SwitchStmt:
		return c.nested(n.Body, n.Init, n.Tag)
	case *ast.TypeSwitchStmt:
		return c.nested(n.Body, n.Init, n.Assign)
	case *ast.SelectStmt:
		return c.nested(n.Body)
	case *ast.ForStmt:
		return c.nested(n.Body, n.Init, n.Cond, n.Post)
	case *ast.RangeStmt:
		return c.nested(n.Body, n.X)
	case *ast.FuncLit:
		c.inside(n.Body)
		return nil
	case *ast.BranchStmt:
		if n.Label != nil {
			c.n++
		}
	case *ast.BinaryExpr:
		c.run(n)
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && id.Name == c.name && !c.method {
			c.n++
		}
	}
	return c
}

// nested counts a statement at its depth, with what it does before its body at that depth and the body below it.
func (c *counter) nested(body *ast.BlockStmt, head ...ast.Node) ast.Visitor {
	c.n += 1 + c.depth
	for _, h := range head {
		c.walk(h)
	}
	c.inside(body)
	return nil
}

func (c *counter) inside(body ast.Node) {
	c.depth++
	c.walk(body)
	c.depth--
}

// walk passes over what is not there, which is a nil in an interface or in a pointer.
func (c *counter) walk(n ast.Node) {
	switch v := n.(type) {
	case nil:
		return
	case ast.Stmt, ast.Expr:
		ast.Walk(c, v)
	}
}

func (c *counter) branch(n *ast.IfStmt) {
	if c.elseIf[n] {
		c.n++
	} else {
		c.n += 1 + c.depth
	}
	c.walk(n.Init)
	c.walk(n.Cond)
	c.inside(n.Body)
	switch e := n.Else.(type) {
	case *ast.BlockStmt:
		c.n++
		c.inside(e)
	case *ast.IfStmt:
		c.elseIf[e] = true
		c.walk(e)
	}
}

// run counts the runs of like operators in one expression; what stands in parentheses is one of its own.
func (c *counter) run(n *ast.BinaryExpr) {
	if !logical(n.Op) || c.seen[n] {
		return
	}
	last := token.ILLEGAL
	for _, op := range c.operators(n) {
		if op != last {
			c.n++
		}
		last = op
	}
}

func (c *counter) operators(e ast.Expr) []token.Token {
	c.seen[e] = true
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		return nil
	}
	out := c.operators(b.X)
	if logical(b.Op) {
		out = append(out, b.Op)
	}
	return append(out, c.operators(b.Y)...)
}

func logical(op token.Token) bool { return op == token.LAND || op == token.LOR }
