package store

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// What the server knows of an expression before it has all arguments decides which
// of several errors a command ends with, and whether there is one.

// endings report of an argument, by its place, that it settles the result, whatever
// comes after it. The server does not compute the arguments after such a one.
var endings = map[string]func(i int, v value) bool{
	"$add":      func(_ int, v value) bool { return !isNumber(v) && v.Type != bson.TypeDateTime },
	"$multiply": func(_ int, v value) bool { return !isNumber(v) },
	"$bitAnd":   endsWhole, "$bitOr": endsWhole, "$bitXor": endsWhole,
	"$concat":       func(_ int, v value) bool { return !isString(v) },
	"$concatArrays": endsArrays, "$setUnion": endsArrays, "$setIntersection": endsArrays, "$setEquals": endsArrays,
	"$setIsSubset":  func(i int, v value) bool { return i == 0 && !isArray(v) },
	"$indexOfArray": func(i int, v value) bool { return i == 0 && !isArray(v) },
	"$indexOfBytes": func(i int, v value) bool { return i < 2 && !isString(v) },
	"$indexOfCP":    func(i int, v value) bool { return i < 2 && !isString(v) },
	"$round":        func(i int, v value) bool { return i == 0 && !isNumber(v) },
	"$trunc":        func(i int, v value) bool { return i == 0 && !isNumber(v) },
	"$atan2":        func(i int, v value) bool { return i == 0 && !isNumber(v) },
}

func endsWhole(_ int, v value) bool { return v.Type != bson.TypeInt32 && v.Type != bson.TypeInt64 }

func endsArrays(_ int, v value) bool { return !isArray(v) }

// commuting are the operators whose constants the server looks at last.
var commuting = []string{"$setUnion", "$setIntersection"}

// folded returns what can be said of a call already: all of it, where its arguments
// are constants, or that it fails.
func folded(e *callExpression, sc *scope) (expression, error) {
	for _, a := range e.args {
		if a != nil && !isConstant(a) {
			return e, nil
		}
	}
	v, err := e.eval(newEvaluation(sc, time.Time{}, nil))
	if err != nil || len(v.Value) > maxFolded { // large ones are not kept
		return e, err
	}
	return literal(v), nil
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

// constantsLast puts the constants after the other arguments.
func constantsLast(args []expression) []expression {
	var list, constants []expression
	for _, a := range args {
		if isConstant(a) {
			constants = append(constants, a)
			continue
		}
		list = append(list, a)
	}
	return append(list, constants...)
}
