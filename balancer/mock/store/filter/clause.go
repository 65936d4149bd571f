package filter

import (
	"cmp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/value"
)

// Clause is one condition of a conjunction: an operator on a path, or an unsplit part of the query ($or,
// $expr).
type Clause struct {
	Path string
	Op   string
	Arg  value.Value
	Or   [][]Clause // the branches of $or
}

// splitClauses splits a compiled query into clauses. It flattens $and, splits {a: {$gt: 1, $lt: 5}} into
// two clauses, and normalizes equivalent conditions ($in with one value to $eq, $ne to $not of $eq).
func splitClauses(query []byte) []Clause {
	var out []Clause
	for name, v := range document.Fields(query) {
		switch path := string(name); {
		case path == "$and":
			for _, part := range document.Fields(v.Value) {
				out = append(out, splitClauses(part.Value)...)
			}
		case path == "$or":
			out = append(out, orClauses(v)...)
		case path == "$comment":
		case document.IsOperator(path) && !document.IsReference(path):
			out = append(out, Clause{Op: path, Arg: v})
		default:
			out = append(out, PathClauses(path, v)...)
		}
	}
	return out
}

// orClauses splits a $or. An $or with a single branch becomes the clauses of that branch.
func orClauses(v value.Value) []Clause {
	c := Clause{Op: "$or", Arg: v}
	for _, branch := range document.Fields(v.Value) {
		c.Or = append(c.Or, splitClauses(branch.Value))
	}
	if len(c.Or) == 1 {
		return c.Or[0]
	}
	return []Clause{c}
}

// PathClauses splits the condition on one path into clauses.
func PathClauses(path string, v value.Value) []Clause {
	if v.Type == bson.TypeRegex {
		return []Clause{{Path: path, Op: "$regex", Arg: v}}
	}
	op, _, ok := document.FirstField(v.Value)
	if !value.IsObject(v) || !ok || !document.IsOperator(op) || document.IsReference(op) {
		return []Clause{{Path: path, Op: "$eq", Arg: v}}
	}
	var out []Clause
	for name, arg := range document.Fields(v.Value) {
		out = append(out, operatorClauses(path, string(name), arg, v.Value)...)
	}
	return out
}

func operatorClauses(path, op string, arg value.Value, beside []byte) []Clause {
	one := func(op string, arg value.Value) []Clause { return []Clause{{Path: path, Op: op, Arg: arg}} }
	opposite := func(c Clause) []Clause {
		return one("$not", value.Object(document.New(document.Field{Name: c.Op, Value: c.Arg})))
	}
	switch op {
	case "$options":
		return nil
	case "$regex":
		if value.IsString(arg) {
			arg = regexValue(value.TextAt(arg.Value), value.TextAt(document.Lookup(beside, "$options").Value))
		}
		return one("$regex", arg)
	case "$ne":
		return opposite(Clause{Op: "$eq", Arg: arg})
	case "$in":
		c := membershipClause(path, arg)
		return []Clause{c}
	case "$nin":
		return opposite(membershipClause(path, arg))
	case "$exists":
		if !value.IsTruthy(arg) {
			return opposite(Clause{Op: "$exists", Arg: value.Bool(true)})
		}
		return one(op, value.Bool(true))
	case "$all":
		var out []Clause
		for _, e := range document.Fields(arg.Value) {
			out = append(out, PathClauses(path, e)...)
		}
		return out
	}
	return one(op, arg)
}

func regexValue(pattern, options string) value.Value {
	b := append([]byte(pattern), 0)
	return value.Value{Type: bson.TypeRegex, Value: append(append(b, options...), 0)}
}

// membershipClause returns an $in clause with sorted, distinct values.
func membershipClause(path string, arg value.Value) Clause {
	list := document.Items(arg)
	slices.SortStableFunc(list, value.Compare)
	list = slices.CompactFunc(list, func(a, b value.Value) bool { return value.Compare(a, b) == 0 })
	if len(list) == 1 && list[0].Type != bson.TypeRegex {
		return Clause{Path: path, Op: "$eq", Arg: list[0]}
	}
	return Clause{Path: path, Op: "$in", Arg: document.Array(list)}
}

// clauseOrder is the order in which explain lists conditions.
var clauseOrder = map[string]int{
	"$or": 1, "$elemMatch": 2, "$size": 4, "$eq": 5, "$lte": 6, "$lt": 7, "$gt": 8, "$gte": 9, "$regex": 10, "$mod": 11,
	"$exists": 12, "$in": 13, "$bitsAllSet": 14, "$bitsAllClear": 15, "$bitsAnySet": 16, "$bitsAnyClear": 17,
	"$not": 18, "$nor": 19, "$type": 20, "$expr": 30, "$jsonSchema": 31,
}

// ExplainQuery returns clauses in the format of explain's parsedQuery.
func ExplainQuery(list []Clause) bson.Raw {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Clause) int {
		return cmp.Or(cmp.Compare(clauseOrder[a.Op], clauseOrder[b.Op]), cmp.Compare(a.Path, b.Path))
	})
	docs := make([]value.Value, len(list))
	for i, c := range list {
		docs[i] = value.Object(c.queryDocument())
	}
	switch len(docs) {
	case 0:
		return document.Empty
	case 1:
		return docs[0].Value
	}
	return document.New(document.Field{Name: "$and", Value: document.Array(docs)})
}

func (c Clause) queryDocument() bson.Raw {
	switch {
	case c.Or != nil:
		var branches []value.Value
		for _, b := range c.Or {
			branches = append(branches, value.Object(ExplainQuery(b)))
		}
		return document.New(document.Field{Name: "$or", Value: document.Array(branches)})
	case c.Path == "":
		return document.New(document.Field{Name: c.Op, Value: c.Arg})
	case c.Op == "$regex":
		pattern, options := value.RegexAt(c.Arg.Value)
		test := []document.Field{{Name: "$regex", Value: value.String(pattern)}}
		if options != "" {
			test = append(test, document.Field{Name: "$options", Value: value.String(options)})
		}
		return document.New(document.Field{Name: c.Path, Value: value.Object(document.New(test...))})
	}
	return document.New(document.Field{Name: c.Path, Value: value.Object(document.New(document.Field{Name: c.Op,
		Value: c.Arg}))})
}

// ParsedQuery returns the query in the format of explain's parsedQuery.
func (f *Filter) ParsedQuery() bson.Raw {
	if f == nil {
		return document.Empty
	}
	return ExplainQuery(f.Clauses)
}

// Shape returns the query with the types of its values instead of the values.
func (f *Filter) Shape() bson.Raw {
	if f == nil {
		return document.Empty
	}
	return queryShape(f.ParsedQuery())
}

func queryShape(doc []byte) bson.Raw {
	b, start := document.Open(nil)
	for name, v := range document.Fields(doc) {
		switch {
		case value.IsObject(v):
			v = value.Object(queryShape(v.Value))
		case value.IsArray(v) && (string(name) == "$and" || string(name) == "$or" || string(name) == "$nor"):
			v = value.Array(queryShape(v.Value))
		default:
			v = value.String("?" + value.TypeName(v))
		}
		b = document.Append(b, name, v)
	}
	return document.Close(b, start)
}
