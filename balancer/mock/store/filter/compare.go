package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

type comparisonOp uint8

const (
	opEqual comparisonOp = iota
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
)

// comparison is $eq, $gt, $gte, $lt and $lte. Values of different types do not
// compare ("type bracketing"), except that missing counts as null and that
// everything lies between MinKey and MaxKey.
type comparison struct {
	op comparisonOp
	to value
}

func newComparison(name string, op comparisonOp, to value) (*comparison, error) {
	if to.Type == bson.TypeUndefined {
		return nil, badValue("cannot compare to undefined")
	}
	if to.Type == bson.TypeRegex && op != opEqual {
		return nil, badValue("Can't have RegEx as arg to predicate over field '%s'.", name)
	}
	return &comparison{op, to}, nil
}

func (c *comparison) test(v value, _ *matching) bool {
	have, want := keyorder.Rank(v.Type), keyorder.Rank(c.to.Type)
	if have != want {
		switch {
		case v.Type == bson.TypeUndefined && c.op == opEqual:
			return false // since 8.0 null is not equal to undefined
		case isNullish(v) && isNullish(c.to):
			return c.op != opLess && c.op != opGreater
		case c.to.Type == bson.TypeMaxKey:
			return c.op == opLess || c.op == opLessEqual
		case c.to.Type == bson.TypeMinKey:
			return c.op == opGreater || c.op == opGreaterEqual
		}
		return false
	}
	if a, b := isNaN(v), isNaN(c.to); a || b {
		return a && b && c.op != opLess && c.op != opGreater
	}
	order := compare(v, c.to)
	switch c.op {
	case opEqual:
		return order == 0
	case opLess:
		return order < 0
	case opLessEqual:
		return order <= 0
	case opGreater:
		return order > 0
	}
	return order >= 0
}

// membership is $in: one of some values, or matched by one of some regular
// expressions.
type membership struct {
	values  map[string]struct{} // encoded
	null    bool
	regexes []*regexTest
	single  *value
}

func newMembership(op string, v value) (*membership, error) {
	if !isArray(v) {
		return nil, badValue("%s needs an array", op)
	}
	m := &membership{values: map[string]struct{}{}}
	list := items(v)
	for _, item := range list {
		switch item.Type {
		case bson.TypeUndefined:
			return nil, badValue("InMatchExpression equality cannot be undefined")
		case bson.TypeRegex:
			pattern, options := regexAt(item.Value)
			r, err := newRegexTest(pattern, options)
			if err != nil {
				return nil, err
			}
			m.regexes = append(m.regexes, r)
			continue
		case bson.TypeNull:
			m.null = true
		case bson.TypeEmbeddedDocument:
			if name, _, ok := first(item.Value); ok && isOperator(name) && !isReference(name) {
				return nil, badValue("cannot nest $ under %s", op)
			}
		}
		m.values[encoded(item)] = struct{}{}
	}
	if len(list) == 1 && len(m.regexes) == 0 {
		m.single = &list[0]
	}
	return m, nil
}

func (t *membership) test(v value, m *matching) bool {
	if isNullish(v) {
		return t.null && v.Type != bson.TypeUndefined
	}
	var room [64]byte
	if _, ok := t.values[string(keyorder.Append(room[:0], v))]; ok {
		return true
	}
	for _, r := range t.regexes {
		if r.test(v, m) {
			return true
		}
	}
	return false
}

type existence struct{}

func (existence) test(v value, _ *matching) bool { return !isMissing(v) }

// typeTest is $type.
type typeTest struct {
	types  map[bson.Type]bool
	number bool
}

func newTypeTest(name string, v value) (typeTest, error) {
	t := typeTest{types: map[bson.Type]bool{}}
	list := []value{v}
	if isArray(v) {
		if list = items(v); len(list) == 0 {
			return t, failedToParse("%s must match at least one type", name)
		}
	}
	for _, item := range list {
		if err := t.add(item); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (t *typeTest) add(v value) error {
	if isString(v) {
		alias := textAt(v.Value)
		if alias == "number" {
			t.number = true
			return nil
		}
		typ, ok := typeByName(alias)
		if !ok {
			return badValue("Unknown type name alias: %s", alias)
		}
		t.types[typ] = true
		return nil
	}
	if !isNumber(v) {
		return typeMismatch("type must be represented as a number or a string")
	}
	n, ok := wholeInteger(v)
	typ, known := typeByNumber(n)
	if !ok || !known {
		return badValue("Invalid numerical type code: %s", v)
	}
	t.types[typ] = true
	return nil
}

func (t typeTest) test(v value, _ *matching) bool {
	return t.types[v.Type] || t.number && isNumber(v)
}
