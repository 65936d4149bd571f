package filter

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

type comparisonOp uint8

const (
	opEqual comparisonOp = iota
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
)

// comparison implements $eq, $gt, $gte, $lt and $lte. Values of different types do not compare ("type
// bracketing"), except that missing counts as null, and that every value is between MinKey and MaxKey.
type comparison struct {
	op      comparisonOp
	operand value.Value
}

func newComparison(name string, op comparisonOp, to value.Value) (*comparison, error) {
	if to.Type == bson.TypeUndefined {
		return nil, servererr.BadValue("cannot compare to undefined")
	}
	if to.Type == bson.TypeRegex && op != opEqual {
		return nil, servererr.BadValue("Can't have RegEx as arg to predicate over field '%s'.", name)
	}
	return &comparison{op, to}, nil
}

func (c *comparison) Test(v value.Value, _ *MatchState) bool {
	have, want := keyorder.Rank(v.Type), keyorder.Rank(c.operand.Type)
	if have != want {
		switch {
		case v.Type == bson.TypeUndefined && c.op == opEqual:
			return false // since 8.0 null does not equal undefined
		case value.IsNullish(v) && value.IsNullish(c.operand):
			return c.op != opLess && c.op != opGreater
		case c.operand.Type == bson.TypeMaxKey:
			return c.op == opLess || c.op == opLessEqual
		case c.operand.Type == bson.TypeMinKey:
			return c.op == opGreater || c.op == opGreaterEqual
		}
		return false
	}
	if a, b := value.IsNaN(v), value.IsNaN(c.operand); a || b {
		return a && b && c.op != opLess && c.op != opGreater
	}
	order := value.Compare(v, c.operand)
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

// membership implements $in: equality with one of several values, or a match of one of several regular
// expressions.
type membership struct {
	values  map[string]struct{} // encoded
	null    bool
	regexes []*regexTest
	single  *value.Value
}

func newMembership(op string, v value.Value) (*membership, error) {
	if !value.IsArray(v) {
		return nil, servererr.BadValue("%s needs an array", op)
	}
	m := &membership{values: map[string]struct{}{}}
	list := document.Items(v)
	for _, item := range list {
		switch item.Type {
		case bson.TypeUndefined:
			return nil, servererr.BadValue("InMatchExpression equality cannot be undefined")
		case bson.TypeRegex:
			pattern, options := value.RegexAt(item.Value)
			r, err := newRegexTest(pattern, options)
			if err != nil {
				return nil, err
			}
			m.regexes = append(m.regexes, r)
			continue
		case bson.TypeNull:
			m.null = true
		case bson.TypeEmbeddedDocument:
			if name, _, ok := document.FirstField(item.Value); ok && document.IsOperator(name) && !document.IsReference(name) {
				return nil, servererr.BadValue("cannot nest $ under %s", op)
			}
		}
		m.values[value.EncodedKey(item)] = struct{}{}
	}
	if len(list) == 1 && len(m.regexes) == 0 {
		m.single = &list[0]
	}
	return m, nil
}

func (t *membership) Test(v value.Value, m *MatchState) bool {
	if value.IsNullish(v) {
		return t.null && v.Type != bson.TypeUndefined
	}
	var buf [64]byte
	if _, ok := t.values[string(keyorder.Append(buf[:0], v))]; ok {
		return true
	}
	return slices.ContainsFunc(t.regexes, func(r *regexTest) bool { return r.Test(v, m) })
}

type existence struct{}

func (existence) Test(v value.Value, _ *MatchState) bool { return !value.IsMissing(v) }

// typeTest implements $type.
type typeTest struct {
	types     map[bson.Type]bool
	anyNumber bool
}

func newTypeTest(name string, v value.Value) (typeTest, error) {
	t := typeTest{types: map[bson.Type]bool{}}
	list := []value.Value{v}
	if value.IsArray(v) {
		if list = document.Items(v); len(list) == 0 {
			return t, servererr.FailedToParse("%s must match at least one type", name)
		}
	}
	for _, item := range list {
		if err := t.add(item); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (t *typeTest) add(v value.Value) error {
	if value.IsString(v) {
		alias := value.TextAt(v.Value)
		if alias == "number" {
			t.anyNumber = true
			return nil
		}
		typ, ok := value.TypeByName(alias)
		if !ok {
			return servererr.BadValue("Unknown type name alias: %s", alias)
		}
		t.types[typ] = true
		return nil
	}
	if !value.IsNumber(v) {
		return servererr.TypeMismatch("type must be represented as a number or a string")
	}
	n, ok := value.WholeInteger(v)
	typ, known := value.TypeByNumber(n)
	if !ok || !known {
		return servererr.BadValue("Invalid numerical type code: %s", v)
	}
	t.types[typ] = true
	return nil
}

func (t typeTest) Test(v value.Value, _ *MatchState) bool {
	return t.types[v.Type] || t.anyNumber && value.IsNumber(v)
}
