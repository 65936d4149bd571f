package expr

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// What the server knows of an expression before it has all arguments decides which
// of several errors a command ends with, and whether there is one.

// endings report whether the last of the arguments so far settles the result, whatever
// comes after it. The server does not compute the arguments after such a one.
var endings = map[string]func(args []value.Value) bool{
	"$add": func(args []value.Value) bool {
		v := last(args)
		return !value.IsNumber(v) && v.Type != bson.TypeDateTime
	},
	"$multiply": func(args []value.Value) bool { return !value.IsNumber(last(args)) },
	"$bitAnd":   endsWhole, "$bitOr": endsWhole, "$bitXor": endsWhole,
	"$concat":       func(args []value.Value) bool { return !value.IsString(last(args)) },
	"$concatArrays": endsArrays, "$setUnion": endsArrays, "$setIntersection": endsArrays, "$setEquals": endsArrays,
	"$indexOfArray": func(args []value.Value) bool { return len(args) == 1 && !value.IsArray(args[0]) },
	"$indexOfBytes": func(args []value.Value) bool { return len(args) < 3 && !value.IsString(last(args)) },
	"$indexOfCP":    func(args []value.Value) bool { return len(args) < 3 && !value.IsString(last(args)) },
	"$round":        endsFirstNumber, "$trunc": endsFirstNumber, "$atan2": endsFirstNumber,
	"$slice": func(args []value.Value) bool {
		return len(args) == 2 && (!value.IsArray(args[0]) || value.IsNullish(args[1]) || !value.IsNumber(args[1]))
	},
	"$mergeObjects": func(args []value.Value) bool {
		v := last(args)
		return !value.IsNullish(v) && !value.IsObject(v)
	},
}

func last(args []value.Value) value.Value { return args[len(args)-1] }

func endsFirstNumber(args []value.Value) bool { return len(args) == 1 && !value.IsNumber(args[0]) }

func endsWhole(args []value.Value) bool {
	v := last(args)
	return v.Type != bson.TypeInt32 && v.Type != bson.TypeInt64
}

func endsArrays(args []value.Value) bool { return !value.IsArray(last(args)) }

// constantChecks look at those arguments of operators that are constants, before any
// document is seen.
var constantChecks = map[string]func(args []Expression) error{
	"$indexOfArray": func(args []Expression) error {
		v, ok := constantAt(args, 0)
		if !ok || value.IsArray(v) || value.IsNullish(v) || !slices.ContainsFunc(args, isVariable) {
			return nil
		}
		return servererr.Of(50809, "First operand of $indexOfArray must be an array. First argument is of type: %s",
			value.TypeName(v))
	},
	"$setEquals": func(args []Expression) error {
		for i := range args {
			if v, ok := constantAt(args, i); ok && !value.IsArray(v) {
				return servererr.Of(5887502, "All operands of $setEquals must be arrays. %d-th argument is of type: %s", i+1,
					value.TypeName(v))
			}
		}
		return nil
	},
	"$dateAdd": unitCheck(1), "$dateSubtract": unitCheck(1), "$dateDiff": unitCheck(2),
	"$dateTrunc": func(args []Expression) error {
		if err := unitCheck(1)(args); err != nil {
			return err
		}
		if v, ok := constantAt(args, 2); ok && !value.IsNullish(v) {
			_, err := binSize(v)
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

// unitCheck refuses units that there are not.
func unitCheck(place int) func(args []Expression) error {
	return func(args []Expression) error {
		v, ok := constantAt(args, place)
		if !ok || !value.IsString(v) {
			return nil
		}
		_, _, err := UnitOf(v, "", 0)
		return err
	}
}

// Collecting has the scope keep the errors of constants until all is parsed: the server
// computes constants after that. The function that it returns gives the first one.
func (s *Scope) Collecting() func() error {
	s.early = new(error)
	return func() error { return *s.early }
}

// constantFails returns an error that constants made, or keeps it for later.
func (s *Scope) constantFails(err error) error {
	if err == nil || s.early == nil {
		return err
	}
	if *s.early == nil {
		*s.early = err
	}
	return nil
}

// folded returns what can be said of an expression already: all of it, where its
// operands are constants, or that it fails.
func (c *Compiler) folded(e Expression, operands []Expression, sc *Scope) (Expression, error) {
	if c.asIs || slices.ContainsFunc(operands, isVariable) {
		return e, nil
	}
	v, err := e.Eval(NewEvaluation(sc, time.Time{}, nil))
	if err != nil || len(v.Value) > maxFolded { // large ones are not kept
		return e, sc.constantFails(err)
	}
	return Literal(v), nil
}

// untouched compiles an operand of which the server computes nothing before it runs:
// those of $getField and its kin.
func (c *Compiler) untouched(v value.Value, sc *Scope) (Expression, error) {
	was := c.asIs
	c.asIs = true
	defer func() { c.asIs = was }()
	return c.Compile(v, sc)
}

// maxFolded is the size of the largest value that takes the place of an expression.
const maxFolded = 4 << 10

// IsConstant reports whether an expression is made of values as they stand.
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
