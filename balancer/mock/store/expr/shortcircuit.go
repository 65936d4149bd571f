package expr

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// The server may know the result of an expression before it has evaluated all arguments. This determines
// which of several errors a command returns, and whether it returns one.

// shortCircuitByOperator holds functions that report whether the last evaluated argument determines the
// result. The server does not evaluate the arguments after it.
var shortCircuitByOperator = map[string]func(args []value.Value) bool{
	"$add": func(args []value.Value) bool {
		v := last(args)
		return !value.IsNumber(v) && v.Type != bson.TypeDateTime
	},
	"$multiply":        func(args []value.Value) bool { return !value.IsNumber(last(args)) },
	"$bitAnd":          settledUnlessInteger,
	"$bitOr":           settledUnlessInteger,
	"$bitXor":          settledUnlessInteger,
	"$concat":          func(args []value.Value) bool { return !value.IsString(last(args)) },
	"$concatArrays":    settledUnlessArray,
	"$setUnion":        settledUnlessArray,
	"$setIntersection": settledUnlessArray,
	"$setEquals":       settledUnlessArray,
	"$indexOfArray":    func(args []value.Value) bool { return len(args) == 1 && !value.IsArray(args[0]) },
	"$indexOfBytes":    func(args []value.Value) bool { return len(args) < 3 && !value.IsString(last(args)) },
	"$indexOfCP":       func(args []value.Value) bool { return len(args) < 3 && !value.IsString(last(args)) },
	"$round":           settledUnlessFirstNumber,
	"$trunc":           settledUnlessFirstNumber,
	"$atan2":           settledUnlessFirstNumber,
	"$slice": func(args []value.Value) bool {
		return len(args) == 2 && (!value.IsArray(args[0]) || value.IsNullish(args[1]) || !value.IsNumber(args[1]))
	},
	"$mergeObjects": func(args []value.Value) bool {
		v := last(args)
		return !value.IsNullish(v) && !value.IsObject(v)
	},
}

func last(args []value.Value) value.Value { return args[len(args)-1] }

func settledUnlessFirstNumber(args []value.Value) bool {
	return len(args) == 1 && !value.IsNumber(args[0])
}

func settledUnlessInteger(args []value.Value) bool {
	v := last(args)
	return v.Type != bson.TypeInt32 && v.Type != bson.TypeInt64
}

func settledUnlessArray(args []value.Value) bool { return !value.IsArray(last(args)) }

// constantChecks check the constant arguments of operators at compile time.
var constantChecks = map[string]func(args []Expression) error{
	"$indexOfArray": func(args []Expression) error {
		v, ok := constantAt(args, 0)
		if !ok || value.IsArray(v) || value.IsNullish(v) || !slices.ContainsFunc(args, isVariable) {
			return nil
		}
		return servererr.NewCode(50809, "First operand of $indexOfArray must be an array. First argument is of type: %s",
			value.TypeName(v))
	},
	"$setEquals": func(args []Expression) error {
		for i := range args {
			if v, ok := constantAt(args, i); ok && !value.IsArray(v) {
				return servererr.NewCode(5887502, "All operands of $setEquals must be arrays. %d-th argument is of type: %s", i+1,
					value.TypeName(v))
			}
		}
		return nil
	},
	"$dateAdd": checkUnitAt(1), "$dateSubtract": checkUnitAt(1), "$dateDiff": checkUnitAt(2),
	"$dateTrunc": func(args []Expression) error {
		if err := checkUnitAt(1)(args); err != nil {
			return err
		}
		if v, ok := constantAt(args, 2); ok && !value.IsNullish(v) {
			_, err := parseBinSize(v)
			return err
		}
		return nil
	},
}

func isVariable(e Expression) bool { return e != nil && !IsConstant(e) }

func constantAt(args []Expression, i int) (value.Value, bool) {
	if args[i] == nil {
		return value.Value{}, false
	}
	v, ok := args[i].(Literal)
	return value.Value(v), ok
}

// checkUnitAt returns a check that rejects unknown time units.
func checkUnitAt(place int) func(args []Expression) error {
	return func(args []Expression) error {
		v, ok := constantAt(args, place)
		if !ok || !value.IsString(v) {
			return nil
		}
		_, _, err := ParseUnit(v, "", 0)
		return err
	}
}

// DeferConstantErrors makes the scope defer errors of constant folding until parsing is done, because
// the server folds constants after parsing. The returned function returns the first error.
func (s *Scope) DeferConstantErrors() func() error {
	s.deferredErr = new(error)
	return func() error { return *s.deferredErr }
}

// reportConstantErr returns an error of constant folding, or defers it.
func (s *Scope) reportConstantErr(err error) error {
	if err == nil || s.deferredErr == nil {
		return err
	}
	if *s.deferredErr == nil {
		*s.deferredErr = err
	}
	return nil
}

// fold replaces an expression with constant operands by its value. It returns the error of the
// evaluation unless the scope defers errors.
func (c *Compiler) fold(e Expression, operands []Expression, sc *Scope) (Expression, error) {
	if c.noFolding || slices.ContainsFunc(operands, isVariable) {
		return e, nil
	}
	v, err := e.Eval(NewEvaluation(sc, time.Time{}, nil))
	if err != nil || len(v.Value) > maxFoldedSize { // large values are not kept
		return e, sc.reportConstantErr(err)
	}
	return Literal(v), nil
}

// compileUnfolded compiles an operand without constant folding:
// the server does not fold the operands of $getField and $setField.
func (c *Compiler) compileUnfolded(v value.Value, sc *Scope) (Expression, error) {
	before := c.noFolding
	c.noFolding = true
	defer func() { c.noFolding = before }()
	return c.Compile(v, sc)
}

// maxFoldedSize is the maximum size, in bytes, of a value that replaces an expression.
const maxFoldedSize = 4 << 10

// IsConstant reports whether an expression consists of literals only.
func IsConstant(e Expression) bool {
	switch e := e.(type) {
	case Literal:
		return true
	case Array:
		return !slices.ContainsFunc(e, func(item Expression) bool { return !IsConstant(item) })
	case Object:
		return !slices.ContainsFunc(e, func(f namedExpression) bool { return !IsConstant(f.Expr) })
	}
	return false
}
