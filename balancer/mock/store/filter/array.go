package store

import "go.mongodb.org/mongo-driver/v2/bson"

// sizeTest is $size.
type sizeTest int

func newSizeTest(v value) (sizeTest, error) {
	n, ok := wholeInteger(v)
	switch {
	case !isNumber(v):
		return 0, badValue("Failed to parse $size. Expected a number in: $size: %s", v)
	case !ok:
		return 0, badValue("Failed to parse $size. Expected an integer: $size: %s", v)
	case n < 0:
		return 0, badValue("Failed to parse $size. Expected a non-negative number in: $size: %s", v)
	case n > MaxDocumentSize:
		n = MaxDocumentSize
	}
	return sizeTest(n), nil
}

func (t sizeTest) test(v value, _ *matching) bool {
	return isArray(v) && fieldCount(v.Value) == int(t)
}

// all compiles $all: a conjunction of equalities, regular expressions and
// $elemMatch.
func (c *filterCompiler) all(name string, v value) (predicate, error) {
	if !isArray(v) {
		return predicate{}, badValue("$all needs an array")
	}
	var ps []predicate
	for i, item := range items(v) {
		op, arg, ok := "", value{}, false
		if isObject(item) {
			op, arg, ok = first(item.Value)
		}
		switch {
		case ok && op == "$elemMatch":
			p, err := c.elemMatch(name, arg)
			if err != nil {
				return predicate{}, err
			}
			ps = append(ps, p)
			continue
		case i > 0 && len(ps) > 0 && isElemMatch(ps[0]):
			return predicate{}, badValue("$all/$elemMatch has to be consistent")
		case ok && isOperator(op) && !isReference(op):
			return predicate{}, badValue("no $ expressions in $all")
		}
		p, err := c.predicate(name, item)
		if err != nil {
			return predicate{}, err
		}
		ps = append(ps, p)
	}
	if len(ps) == 0 {
		return leaf(matchesNothing{}), nil
	}
	p := allOf(ps)
	p.every = everyValues(ps)
	return p, nil
}

func isElemMatch(p predicate) bool {
	switch p.leaf.(type) {
	case elementDocument, elementValue:
		return true
	}
	return false
}

type matchesNothing struct{}

func (matchesNothing) test(value, *matching) bool { return false }

// elemMatch compiles $elemMatch: a query on elements that are documents, or
// operators on the elements themselves.
func (c *filterCompiler) elemMatch(name string, v value) (predicate, error) {
	if !isObject(v) {
		return predicate{}, badValue("$elemMatch needs an Object")
	}
	op, _, ok := first(v.Value)
	if ok && isOperator(op) && !isReference(op) && !topLevelOnly[op] {
		ps, err := c.operators(name, v.Value)
		return whole(elementValue{allOf(ps)}), err
	}
	was := c.below
	c.below = true
	defer func() { c.below = was }()
	n, err := c.document(v.Value)
	return whole(elementDocument{n}), err
}

// topLevelOnly are the operators that begin a query on documents, not on
// values.
var topLevelOnly = map[string]bool{
	"$and": true, "$or": true, "$nor": true, "$where": true, "$expr": true, "$comment": true,
	"$jsonSchema": true, "$alwaysTrue": true, "$alwaysFalse": true,
}

type elementDocument struct{ query node }

func (t elementDocument) test(v value, m *matching) bool {
	return anyElement(v, m, func(e value) bool {
		return (isObject(e) || e.Type == bson.TypeArray) && t.query.match(e.Value, m)
	})
}

type elementValue struct{ want predicate }

func (t elementValue) test(v value, m *matching) bool {
	return anyElement(v, m, func(e value) bool { return t.want.test(e, m) })
}

// anyElement reports whether an element matches, and keeps its place.
func anyElement(v value, m *matching, ok func(value) bool) bool {
	if !isArray(v) {
		return false
	}
	i := 0
	for _, e := range fields(v.Value) {
		if m.goOn(0) && ok(e) {
			m.index = i
			return true
		}
		i++
	}
	return false
}
