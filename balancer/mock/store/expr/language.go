package expr

import (
	"slices"

	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// Language is what a release has in its query language beyond that of 8.0, which is the
// zero value.
type Language struct {
	// GathersArrays has $concatArrays and $setUnion gather the arrays of a group (8.1).
	GathersArrays bool
	// CurrentDate has $currentDate as an expression (8.2).
	CurrentDate bool
	// Hashes has $hash, $hexHash, $subtype, $createObjectId, $serializeEJSON,
	// $deserializeEJSON, arrayIndexAs, and the conversions of convert_text.go (8.3).
	Hashes bool
	// GroupFieldsNamed has $group refuse fields without a name (9.0).
	GroupFieldsNamed bool
	// NullInArrays has a path lead to null at each element of an array that it cannot go
	// on from, and at an empty array (9.0, SERVER-36681).
	NullInArrays bool
}

// newOperators are the expressions that 8.0 does not have.
var newOperators = map[string]func(Language) bool{
	"$currentDate":      func(l Language) bool { return l.CurrentDate },
	"$hash":             func(l Language) bool { return l.Hashes },
	"$hexHash":          func(l Language) bool { return l.Hashes },
	"$subtype":          func(l Language) bool { return l.Hashes },
	"$createObjectId":   func(l Language) bool { return l.Hashes },
	"$serializeEJSON":   func(l Language) bool { return l.Hashes },
	"$deserializeEJSON": func(l Language) bool { return l.Hashes },
	"$toArray":          func(l Language) bool { return l.Hashes },
	"$toObject":         func(l Language) bool { return l.Hashes },
}

// newArguments are those by name that 8.0 does not have.
var newArguments = map[string]string{"$convert": "base"}

// arguments adds to the names of an operator's arguments what the language has more.
func (l Language) arguments(name string, names []string) []string {
	more, some := newArguments[name]
	if !some || !l.Hashes {
		return names
	}
	return append(slices.Clip(names), more)
}

// has reports whether an operator, if it exists at all, does so in the language.
func (l Language) has(name string) bool {
	since, isNew := newOperators[name]
	return !isNew || since(l)
}

// newGroupAccumulators are those that gather arrays.
var newGroupAccumulators = map[string]func() Accumulator{
	"$concatArrays": func() Accumulator { return &allItems{pushAll{memoryCounter: memoryCounter{op: "$concatArrays"}}} },
	"$setUnion": func() Accumulator {
		return &unionOf{setOf{memoryCounter: memoryCounter{op: "$setUnion"}, seen: map[string]bool{}}}
	},
}

// groupAccumulator finds one that works only on groups.
func (l Language) groupAccumulator(name string) (start func() Accumulator, found bool) {
	if start, found = groupAccumulators[name]; found || !l.GathersArrays {
		return start, found
	}
	start, found = newGroupAccumulators[name]
	return start, found
}

// allItems is $concatArrays over a group.
type allItems struct{ pushAll }

func (a *allItems) Add(w *quota.Meter, args []value.Value) error {
	return eachItem(w, a.op, args[0], func(item value.Value) error { return a.pushAll.Add(w, []value.Value{item}) })
}

// unionOf is $setUnion over a group.
type unionOf struct{ setOf }

func (u *unionOf) Add(w *quota.Meter, args []value.Value) error {
	return eachItem(w, u.op, args[0], func(item value.Value) error { return u.setOf.Add(w, []value.Value{item}) })
}

// eachItem gives the items of an array. What is missing has none; null is refused.
func eachItem(w *quota.Meter, op string, list value.Value, give func(item value.Value) error) error {
	if value.IsMissing(list) {
		return nil
	}
	if !value.IsArray(list) {
		return servererr.New(mongoerr.TypeMismatch, "%s requires array inputs, but input %s is of type %s", op, list,
			value.TypeName(list))
	}
	for _, item := range w.Fields(list.Value) {
		if err := give(item); err != nil {
			return err
		}
	}
	return nil
}
