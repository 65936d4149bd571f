package filter

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// sizeTest implements $size.
type sizeTest int

func newSizeTest(v value.Value) (sizeTest, error) {
	n, ok := value.WholeInteger(v)
	switch {
	case !value.IsNumber(v):
		return 0, servererr.BadValue("Failed to parse $size. Expected a number in: $size: %s", v)
	case !ok:
		return 0, servererr.BadValue("Failed to parse $size. Expected an integer: $size: %s", v)
	case n < 0:
		return 0, servererr.BadValue("Failed to parse $size. Expected a non-negative number in: $size: %s", v)
	case n > document.MaxSize:
		n = document.MaxSize
	}
	return sizeTest(n), nil
}

func (t sizeTest) Test(v value.Value, _ *MatchState) bool {
	return value.IsArray(v) && document.Count(v.Value) == int(t)
}

// compileAll compiles $all: a conjunction of equalities, regular expressions and
// $elemMatch.
func (c *Compiler) compileAll(name string, v value.Value) (predicate, error) {
	if !value.IsArray(v) {
		return predicate{}, servererr.BadValue("$all needs an array")
	}
	var ps []predicate
	for i, item := range document.Items(v) {
		op, arg, ok := "", value.Value{}, false
		if value.IsObject(item) {
			op, arg, ok = document.FirstField(item.Value)
		}
		switch {
		case ok && op == "$elemMatch" && (len(ps) == 0 || isElemMatch(ps[0])):
			p, err := c.CompileElemMatch(name, arg)
			if err != nil {
				return predicate{}, err
			}
			ps = append(ps, p)
			continue
		case i > 0 && len(ps) > 0 && isElemMatch(ps[0]):
			return predicate{}, servererr.BadValue("$all/$elemMatch has to be consistent")
		case ok && document.IsOperator(op) && !document.IsReference(op):
			return predicate{}, servererr.BadValue("no $ expressions in $all")
		}
		p, err := c.CompilePredicate(name, item)
		if err != nil {
			return predicate{}, err
		}
		ps = append(ps, p)
	}
	if len(ps) == 0 {
		return leafPredicate(matchesNothing{}), nil
	}
	p := andPredicate(ps)
	p.allValues = newAllValuesNode(ps)
	return p, nil
}

func isElemMatch(p predicate) bool {
	switch p.Leaf.(type) {
	case elementDocument, elementValue:
		return true
	}
	return false
}

type matchesNothing struct{}

func (matchesNothing) Test(value.Value, *MatchState) bool { return false }

// CompileElemMatch compiles $elemMatch, with a query on elements that are documents or with operators on
// the elements themselves.
func (c *Compiler) CompileElemMatch(name string, v value.Value) (predicate, error) {
	if !value.IsObject(v) {
		return predicate{}, servererr.BadValue("$elemMatch needs an Object")
	}
	op, _, ok := document.FirstField(v.Value)
	if ok && document.IsOperator(op) && !document.IsReference(op) && !TopLevelOnly[op] {
		ps, err := c.compileOperators(name, v.Value)
		return wholeValuePredicate(elementValue{andPredicate(ps)}), err
	}
	before := c.inElemMatch
	c.inElemMatch = true
	defer func() { c.inElemMatch = before }()
	n, err := c.CompileDocument(v.Value)
	return wholeValuePredicate(elementDocument{n}), err
}

// TopLevelOnly are the operators of queries on documents, which cannot apply to values.
var TopLevelOnly = map[string]bool{
	"$and": true, "$or": true, "$nor": true, "$where": true, "$expr": true, "$comment": true,
	"$jsonSchema": true, "$alwaysTrue": true, "$alwaysFalse": true,
}

type elementDocument struct{ query node }

func (d elementDocument) Test(v value.Value, m *MatchState) bool {
	return anyElement(v, m, func(e value.Value) bool {
		return (value.IsObject(e) || e.Type == bson.TypeArray) && d.query.Match(e.Value, m)
	})
}

type elementValue struct{ want predicate }

func (ev elementValue) Test(v value.Value, m *MatchState) bool {
	return anyElement(v, m, func(e value.Value) bool { return ev.want.Test(e, m) })
}

// anyElement reports whether an element matches, and stores its index.
func anyElement(v value.Value, m *MatchState, ok func(value.Value) bool) bool {
	if !value.IsArray(v) {
		return false
	}
	i := 0
	for _, e := range document.Fields(v.Value) {
		if m.charge(0) && ok(e) {
			m.ElementIndex = i
			return true
		}
		i++
	}
	return false
}
