package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// nameClasses names anonymous classes that call eval. The engine creates no scope for anonymous classes
// but counts one, so that their methods would find outer variables in the wrong place.
func nameClasses(tree *ast.Program) {
	var calls []evalUse
	for _, use := range evalUses(tree) {
		if use.call != nil {
			calls = append(calls, use)
		}
	}
	name := func(class *ast.ClassLiteral, like *ast.Identifier) {
		for _, use := range calls {
			if class.Name == nil && class.Idx0() <= use.name.Idx && use.name.Idx < class.Idx1() {
				// No code in the class can refer to the name "".
				class.Name = &ast.Identifier{Idx: class.Idx0(), Name: unistring.String("")}
				if like != nil {
					class.Name.Name = like.Name
				}
			}
		}
	}
	of := func(target, value ast.Expression) {
		like, _ := target.(*ast.Identifier)
		if class, ok := value.(*ast.ClassLiteral); ok {
			name(class, like)
		}
	}
	walk(tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Binding:
			of(n.Target, n.Initializer)
		case *ast.AssignExpression:
			of(n.Left, n.Right)
		case *ast.ClassLiteral:
			name(n, nil)
		}
	})
}
