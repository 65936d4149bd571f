package script

import (
	"reflect"

	"github.com/dop251/goja/ast"
)

// walk visits every node of a program, parents first.
func walk(tree *ast.Program, visit func(ast.Node)) {
	w := walker{visit: visit, fields: map[reflect.Type][]int{}}
	for _, st := range tree.Body {
		w.walkValue(reflect.ValueOf(st))
	}
}

// walker visits nodes by reflection, because there are sixty types of nodes.
type walker struct {
	visit   func(ast.Node)
	enters  func(ast.Node) bool                 // whether to visit the inside of a node; nil for all nodes
	replace func(ast.Expression) ast.Expression // nil for no replacement
	fields  map[reflect.Type][]int
}

func (w *walker) walkValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			w.walkValue(v.Elem())
			w.replaceExpression(v)
		}
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return
		}
		if node, ok := v.Interface().(ast.Node); ok {
			w.visit(node)
			if w.enters != nil && !w.enters(node) {
				return
			}
		}
		w.walkValue(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			w.walkValue(v.Index(i))
		}
	case reflect.Struct:
		for _, i := range w.nodeFields(v.Type()) {
			w.walkValue(v.Field(i))
		}
	}
}

// rewrite replaces expressions of a program, inner ones first.
func rewrite(tree *ast.Program, replace func(ast.Expression) ast.Expression) {
	w := walker{visit: func(ast.Node) {}, replace: replace, fields: map[reflect.Type][]int{}}
	for _, st := range tree.Body {
		w.walkValue(reflect.ValueOf(st))
	}
}

// replaceExpression replaces an expression.
func (w *walker) replaceExpression(place reflect.Value) {
	if w.replace == nil || !place.CanSet() || place.IsNil() {
		return
	}
	if old, ok := place.Interface().(ast.Expression); ok {
		if x := w.replace(old); x != old && reflect.TypeOf(x).AssignableTo(place.Type()) {
			place.Set(reflect.ValueOf(x))
		}
	}
}

// nodeFields returns the fields of a node type that hold nodes. It leaves out DeclarationList, which repeats
// declarations that the walker also finds at their own place.
func (w *walker) nodeFields(t reflect.Type) []int {
	list, known := w.fields[t]
	if known {
		return list
	}
	for i := range t.NumField() {
		f := t.Field(i)
		switch f.Type.Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Struct:
			if f.Name != "DeclarationList" && f.IsExported() {
				list = append(list, i)
			}
		}
	}
	w.fields[t] = list
	return list
}
