package store

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// What the server knows of an expression before it has all arguments decides which
// of several errors a command ends with, and whether there is one.

// endings report whether the last of the arguments so far settles the result, whatever
// comes after it. The server does not compute the arguments after such a one.
var endings = map[string]func(args []value) bool{
	"$add":      func(args []value) bool { v := last(args); return !isNumber(v) && v.Type != bson.TypeDateTime },
	"$multiply": func(args []value) bool { return !isNumber(last(args)) },
	"$bitAnd":   endsWhole, "$bitOr": endsWhole, "$bitXor": endsWhole,
	"$concat":       func(args []value) bool { return !isString(last(args)) },
	"$concatArrays": endsArrays, "$setUnion": endsArrays, "$setIntersection": endsArrays, "$setEquals": endsArrays,
	"$indexOfArray": func(args []value) bool { return len(args) == 1 && !isArray(args[0]) },
	"$indexOfBytes": func(args []value) bool { return len(args) < 3 && !isString(last(args)) },
	"$indexOfCP":    func(args []value) bool { return len(args) < 3 && !isString(last(args)) },
	"$round":        endsFirstNumber, "$trunc": endsFirstNumber, "$atan2": endsFirstNumber,
	"$slice": func(args []value) bool {
		return len(args) == 2 && (!isArray(args[0]) || isNullish(args[1]) || !isNumber(args[1]))
	},
	"$mergeObjects": func(args []value) bool {
		v := last(args)
		return !isNullish(v) && !isObject(v)
	},
}

func last(args []value) value { return args[len(args)-1] }

func endsFirstNumber(args []value) bool { return len(args) == 1 && !isNumber(args[0]) }

func endsWhole(args []value) bool {
	v := last(args)
	return v.Type != bson.TypeInt32 && v.Type != bson.TypeInt64
}

func endsArrays(args []value) bool { return !isArray(last(args)) }

// constantChecks look at those arguments of operators that are constants, before any
// document is seen.
var constantChecks = map[string]func(args []expression) error{
	"$indexOfArray": func(args []expression) error {
		v, ok := constantAt(args, 0)
		if !ok || isArray(v) || isNullish(v) || !slices.ContainsFunc(args, isVariable) {
			return nil
		}
		return fail(50809, "First operand of $indexOfArray must be an array. First argument is of type: %s", typeName(v))
	},
	"$setEquals": func(args []expression) error {
		for i := range args {
			if v, ok := constantAt(args, i); ok && !isArray(v) {
				return fail(5887502, "All operands of $setEquals must be arrays. %d-th argument is of type: %s", i+1, typeName(v))
			}
		}
		return nil
	},
	"$dateAdd": unitCheck(1), "$dateSubtract": unitCheck(1), "$dateDiff": unitCheck(2),
	"$dateTrunc": func(args []expression) error {
		if err := unitCheck(1)(args); err != nil {
			return err
		}
		if v, ok := constantAt(args, 2); ok && !isNullish(v) {
			_, err := binSize(v)
			return err
		}
		return nil
	},
}

func isVariable(e expression) bool { return e != nil && !isConstant(e) }

func constantAt(args []expression, i int) (value, bool) {
	if args[i] == nil {
		return value{}, false
	}
	v, ok := args[i].(literal)
	return value(v), ok
}

// unitCheck refuses units that there are not.
func unitCheck(place int) func(args []expression) error {
	return func(args []expression) error {
		v, ok := constantAt(args, place)
		if !ok || !isString(v) {
			return nil
		}
		_, _, err := unitOf(v, "", 0)
		return err
	}
}

// collecting has the scope keep the errors of constants until all is parsed: the server
// computes constants after that. The function that it returns gives the first one.
func (s *scope) collecting() func() error {
	s.early = new(error)
	return func() error { return *s.early }
}

// constantFails returns an error that constants made, or keeps it for later.
func (s *scope) constantFails(err error) error {
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
func (c *exprCompiler) folded(e expression, operands []expression, sc *scope) (expression, error) {
	if c.asIs || slices.ContainsFunc(operands, isVariable) {
		return e, nil
	}
	v, err := e.eval(newEvaluation(sc, time.Time{}, nil))
	if err != nil || len(v.Value) > maxFolded { // large ones are not kept
		return e, sc.constantFails(err)
	}
	return literal(v), nil
}

// untouched compiles an operand of which the server computes nothing before it runs:
// those of $getField and its kin.
func (c *exprCompiler) untouched(v value, sc *scope) (expression, error) {
	was := c.asIs
	c.asIs = true
	defer func() { c.asIs = was }()
	return c.compile(v, sc)
}

// maxFolded is the size of the largest value that takes the place of an expression.
const maxFolded = 4 << 10

func isConstant(e expression) bool {
	switch e := e.(type) {
	case literal:
		return true
	case arrayExpression:
		return !slices.ContainsFunc(e, func(item expression) bool { return !isConstant(item) })
	case objectExpression:
		return !slices.ContainsFunc(e, func(f namedExpression) bool { return !isConstant(f.expr) })
	}
	return false
}
