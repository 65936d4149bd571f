package script

import (
	"math/big"
	"regexp"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// maxBigIntBits limits the length of powers and shifts of BigInts. V8 allows 64 times as much, but the
// engine's algorithms for multiplying and printing such numbers would take minutes, and cannot be
// interrupted.
const maxBigIntBits = 1 << 24

// powerGlobal and the shift globals are the hidden globals that implement the operators.
const (
	powerGlobal      = "__power"
	shiftLeftGlobal  = "__shiftLeft"
	shiftRightGlobal = "__shiftRight"
)

// mayHaveBigInt finds programs that may use BigInts.
var mayHaveBigInt = regexp.MustCompile(`(?i)bigint|[0-9a-f]n\b`)

// guardBigInts makes powers and shifts check the length of their result first. It changes only programs
// that use BigInts, so that shifts of ordinary numbers stay fast.
func guardBigInts(tree *ast.Program) {
	text := tree.File.Source()
	power := strings.Contains(text, "**")
	shift := strings.Contains(text, "<<") || strings.Contains(text, ">>")
	if !power && !shift || !mayHaveBigInt.MatchString(text) {
		return
	}
	names := map[token.Token]string{
		token.EXPONENT: powerGlobal, token.SHIFT_LEFT: shiftLeftGlobal, token.SHIFT_RIGHT: shiftRightGlobal,
	}
	rewrite(tree, func(x ast.Expression) ast.Expression {
		switch x := x.(type) {
		case *ast.BinaryExpression:
			if name, ok := names[x.Operator]; ok && !areNumberLiterals(x.Left, x.Right) {
				return hiddenCall(name, x.Left.Idx0(), x.Left, x.Right)
			}
		case *ast.AssignExpression:
			variable, simple := x.Left.(*ast.Identifier)
			if name, ok := names[x.Operator]; ok && simple {
				x.Right = hiddenCall(name, x.Right.Idx0(), variable, x.Right)
				x.Operator = token.ASSIGN
			}
		}
		return x
	})
}

// areNumberLiterals reports whether all operands are number literals.
func areNumberLiterals(operands ...ast.Expression) bool {
	for _, x := range operands {
		number, ok := x.(*ast.NumberLiteral)
		if !ok {
			return false
		}
		if _, ok := number.Value.(*big.Int); ok {
			return false
		}
	}
	return true
}

// defineBigInts defines the functions for the operators, and guards the functions that make BigInts of
// any length.
func (l limits) defineBigInts() {
	global := l.Runtime.GlobalObject()
	for name, op := range map[string]struct {
		source string
		bits   func(x, y *big.Int) float64
	}{
		powerGlobal: {"(x, y) => x ** y", func(x, y *big.Int) float64 {
			return max(0, float64(x.BitLen())-1) * asFloat(y)
		}},
		shiftLeftGlobal: {"(x, y) => x << y", func(x, y *big.Int) float64 {
			return float64(x.BitLen()) + asFloat(y)
		}},
		shiftRightGlobal: {"(x, y) => x >> y", func(x, y *big.Int) float64 {
			return float64(x.BitLen()) - asFloat(y)
		}},
	} {
		Define(global, name, l.NewFunction(name, func(c *Call) goja.Value {
			x, y := asBigInt(c.Arg(0)), asBigInt(c.Arg(1))
			if x != nil && y != nil && x.Sign() != 0 && op.bits(x, y) > maxBigIntBits {
				l.throwRange("Maximum BigInt size exceeded")
			}
			return l.runOperator(op.source, c.Arg(0), c.Arg(1))
		}))
	}
	class := global.Get("BigInt").(*goja.Object)
	for _, name := range []string{"asIntN", "asUintN"} {
		l.guardFunction(class, name, func(call *goja.FunctionCall) {
			x := asBigInt(call.Argument(1))
			if x == nil || call.Argument(0).ToFloat() <= maxBigIntBits {
				return
			}
			if name == "asUintN" && x.Sign() < 0 {
				l.throwRange("Maximum BigInt size exceeded")
			}
			call.Arguments[0] = l.Runtime.ToValue(maxBigIntBits) // no result is truncated
		})
	}
}

// runOperator applies an operator, given as JavaScript source, to unconverted values.
func (l limits) runOperator(source string, x, y goja.Value) goja.Value {
	f := l.Classes.BuildOnce(source, func() *goja.Object {
		f, err := l.Runtime.RunScript("<operators>", source)
		l.Check(err)
		return f.(*goja.Object)
	})
	run, _ := goja.AssertFunction(f)
	v, err := run(goja.Undefined(), x, y)
	l.Check(err)
	return v
}

// asBigInt returns a value that is a BigInt; nil for others.
func asBigInt(v goja.Value) *big.Int {
	if !goja.IsBigInt(v) {
		return nil
	}
	n, _ := v.Export().(*big.Int)
	return n
}

func asFloat(n *big.Int) float64 {
	f, _ := new(big.Float).SetInt(n).Float64()
	return f
}
