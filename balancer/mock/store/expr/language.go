package expr

import (
	"slices"

	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// Language lists the features that a release's query language has beyond 8.0. The zero value is 8.0.
type Language struct {
	// ArrayAccumulators adds $concatArrays and $setUnion as accumulators (8.1).
	ArrayAccumulators bool
	// CurrentDate adds the expression $currentDate (8.2).
	CurrentDate bool
	// Operators83 adds $hash, $hexHash, $subtype, $createObjectId, $serializeEJSON, $deserializeEJSON,
	// arrayIndexAs, and the conversions of convert_text.go (8.3).
	Operators83 bool
	// RefusesEmptyGroupFields makes $group reject empty field names (9.0).
	RefusesEmptyGroupFields bool
	// NullInArrays makes a path yield null for each array element that is not an object, and for an
	// empty array (9.0, SERVER-36681).
	NullInArrays bool
}

// newArguments are the named arguments that 8.0 does not have, by operator.
var newArguments = map[string]string{"$convert": "base"}

// argumentNames returns the names of an operator's arguments, including those that the language adds.
func (l Language) argumentNames(name string, names []string) []string {
	more, ok := newArguments[name]
	if !ok || !l.Operators83 {
		return names
	}
	return append(slices.Clip(names), more)
}

// arrayAccumulators are the accumulators for arrays.
var arrayAccumulators = map[string]func() Accumulator{
	"$concatArrays": func() Accumulator {
		return &concatArraysOf{pushAll{memoryCounter: memoryCounter{op: "$concatArrays"}}}
	},
	"$setUnion": func() Accumulator {
		return &setUnionOf{setOf{memoryCounter: memoryCounter{op: "$setUnion"}, seen: map[string]bool{}}}
	},
}

// groupAccumulator returns the constructor of an accumulator that works only on groups.
func (l Language) groupAccumulator(name string) (start func() Accumulator, found bool) {
	if start, found = groupAccumulators[name]; found || !l.ArrayAccumulators {
		return start, found
	}
	start, found = arrayAccumulators[name]
	return start, found
}

// concatArraysOf implements $concatArrays over a group.
type concatArraysOf struct{ pushAll }

func (a *concatArraysOf) Add(w *quota.Meter, args []value.Value) error {
	return forEachItem(w, a.op, args[0], func(item value.Value) error { return a.pushAll.Add(w, []value.Value{item}) })
}

// setUnionOf implements $setUnion over a group.
type setUnionOf struct{ setOf }

func (u *setUnionOf) Add(w *quota.Meter, args []value.Value) error {
	return forEachItem(w, u.op, args[0], func(item value.Value) error { return u.setOf.Add(w, []value.Value{item}) })
}

// forEachItem calls visit for each element of an array. A missing list has no elements; null is an error.
func forEachItem(w *quota.Meter, op string, list value.Value, visit func(item value.Value) error) error {
	if value.IsMissing(list) {
		return nil
	}
	if !value.IsArray(list) {
		return servererr.New(mongoerr.TypeMismatch, "%s requires array inputs, but input %s is of type %s", op, list,
			value.TypeName(list))
	}
	for _, item := range w.Fields(list.Value) {
		if err := visit(item); err != nil {
			return err
		}
	}
	return nil
}
