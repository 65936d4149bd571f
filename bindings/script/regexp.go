package script

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

func hasUnicodeClass(pattern, flags string) bool {
	return strings.Contains(flags, "u") && (strings.Contains(pattern, `\p`) || strings.Contains(pattern, `\P`))
}

// regexps adds support for \p{…}, which the engine interprets as the letter p
// (rules/04-values-and-language §4.3). The property source returns the original pattern.
type regexps struct {
	js        *Engine
	originals map[string]string // original patterns by expanded pattern; nil before the first
}

// define makes RegExp expand the classes.
func (r *regexps) define() {
	global := r.js.Runtime.GlobalObject()
	original := global.Get("RegExp").(*goja.Object)
	expand := func(args []goja.Value) []goja.Value {
		if len(args) < 2 || !goja.IsString(args[0]) || !hasUnicodeClass(args[0].String(), args[1].String()) {
			return args
		}
		pattern, err := r.expandPattern(args[0].String())
		if err != nil {
			r.js.Throw("SyntaxError", "%s", err)
		}
		return append([]goja.Value{r.js.Runtime.ToValue(pattern)}, args[1:]...)
	}
	construct, _ := goja.AssertConstructor(original)
	class := r.js.Runtime.ToValue(func(call goja.ConstructorCall) *goja.Object {
		newTarget := call.NewTarget
		if newTarget == nil {
			newTarget = original
		}
		o, err := construct(newTarget, expand(call.Arguments)...)
		r.js.Check(err)
		return o
	}).(*goja.Object)
	proto := original.Get("prototype").(*goja.Object)
	Must(class.DefineDataProperty("prototype", proto, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	Must(class.DefineDataProperty("name", r.js.Runtime.ToValue("RegExp"), goja.FLAG_FALSE, goja.FLAG_TRUE,
		goja.FLAG_FALSE))
	Must(class.SetPrototype(original)) // for static members
	Define(proto, "constructor", class)
	Define(global, "RegExp", class)
}

// expandPattern calls expandClasses and stores the original for the property source.
func (r *regexps) expandPattern(pattern string) (string, error) {
	expanded, err := expandClasses(pattern)
	if err != nil {
		return "", err
	}
	if r.originals == nil {
		r.originals = map[string]string{}
		if err := r.defineSource(); err != nil {
			return "", err
		}
	}
	r.originals[expanded] = pattern
	return expanded, nil
}

// defineSource replaces the accessor of a regular expression's source.
func (r *regexps) defineSource() error {
	v, err := r.js.Runtime.RunScript("<regexp>", `(written => {
  const get = Object.getOwnPropertyDescriptor(RegExp.prototype, "source").get;
  Object.defineProperty(RegExp.prototype, "source", {get() { return written(get.call(this)) }, configurable: true});
  RegExp.prototype.toString = function toString() { return "/" + this.source + "/" + this.flags };
  Object.defineProperty(RegExp.prototype, "toString", {enumerable: false});
})`)
	if err != nil {
		return err
	}
	install, _ := goja.AssertFunction(v)
	_, err = install(goja.Undefined(), r.js.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		if pattern, ok := r.originals[fc.Argument(0).String()]; ok {
			return r.js.Runtime.ToValue(pattern)
		}
		return fc.Argument(0)
	}))
	return err
}

// expand expands the Unicode classes in regular expression literals.
func (r *regexps) expand(tree *ast.Program) (failed error) {
	if text := tree.File.Source(); !strings.Contains(text, `\p{`) && !strings.Contains(text, `\P{`) {
		return nil
	}
	walk(tree, func(n ast.Node) {
		re, ok := n.(*ast.RegExpLiteral)
		if !ok || !hasUnicodeClass(re.Pattern, re.Flags) {
			return
		}
		expanded, err := r.expandPattern(re.Pattern)
		if err != nil {
			at := tree.File.Position(int(re.Idx) - tree.File.Base())
			failed = &transpileError{message: err.Error(), file: at.Filename, line: at.Line, column: at.Column}
			return
		}
		re.Pattern = expanded
	})
	return failed
}

// expandClasses replaces \p{…} and \P{…} by the ranges that they stand for.
func expandClasses(pattern string) (string, error) {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case c == '\\' && i+1 < len(pattern):
			if pattern[i+1] != 'p' && pattern[i+1] != 'P' {
				b.WriteString(pattern[i : i+2])
				i++
				continue
			}
			name, _, ok := strings.Cut(strings.TrimPrefix(pattern[i+2:], "{"), "}")
			table, known := unicodeClass(name)
			if !ok || !known || !strings.HasPrefix(pattern[i+2:], "{") {
				//nolint:staticcheck // V8's words
				return "", fmt.Errorf("Invalid regular expression: /%s/: Invalid property name", pattern)
			}
			if pattern[i+1] == 'P' {
				table = complement(table)
			}
			text := classText(table)
			if !inClass {
				text = "[" + text + "]"
			}
			b.WriteString(text)
			i += len(name) + 3
			continue
		}
		b.WriteByte(pattern[i])
	}
	return b.String(), nil
}

type runeRange struct{ low, high rune }

// unicodeClass returns the characters of a class: a category, a property, or Script=name.
func unicodeClass(name string) ([]runeRange, bool) {
	kind, value, pair := strings.Cut(name, "=")
	switch {
	case pair && slices.Contains([]string{"Script", "sc", "Script_Extensions", "scx"}, kind):
		return rangesOf(unicode.Scripts[value])
	case pair && slices.Contains([]string{"General_Category", "gc"}, kind):
		name = value
	case pair:
		return nil, false
	}
	switch name {
	case "Any":
		return []runeRange{{0, unicode.MaxRune}}, true
	case "ASCII":
		return []runeRange{{0, unicode.MaxASCII}}, true
	case "Alphabetic", "Alpha":
		return rangesOf(unicode.L, unicode.Nl, unicode.Other_Alphabetic)
	case "Uppercase", "Upper":
		return rangesOf(unicode.Lu, unicode.Other_Uppercase)
	case "Lowercase", "Lower":
		return rangesOf(unicode.Ll, unicode.Other_Lowercase)
	}
	if category, ok := unicode.CategoryAliases[name]; ok {
		name = category
	}
	if table := unicode.Categories[name]; table != nil {
		return rangesOf(table)
	}
	return rangesOf(unicode.Properties[name])
}

// rangesOf merges tables; ok is false when there is none.
func rangesOf(tables ...*unicode.RangeTable) ([]runeRange, bool) {
	var list []runeRange
	add := func(low, high, stride rune) {
		if stride == 1 {
			list = append(list, runeRange{low, high})
			return
		}
		for r := low; r <= high; r += stride {
			list = append(list, runeRange{r, r})
		}
	}
	for _, t := range tables {
		if t == nil {
			return nil, false
		}
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	slices.SortFunc(list, func(a, b runeRange) int { return int(a.low - b.low) })
	return list, true
}

func complement(list []runeRange) []runeRange {
	var rest []runeRange
	next := rune(0)
	for _, r := range list {
		if r.low > next {
			rest = append(rest, runeRange{next, r.low - 1})
		}
		next = max(next, r.high+1)
	}
	if next <= unicode.MaxRune {
		rest = append(rest, runeRange{next, unicode.MaxRune})
	}
	return rest
}

func classText(list []runeRange) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, `\u{%x}`, r.low)
		if r.high > r.low {
			fmt.Fprintf(&b, `-\u{%x}`, r.high)
		}
	}
	return b.String()
}
