package store

import (
	"cmp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// clause is one condition of a query that must hold with all others: one
// operator on one path, or a part of the query that is kept whole ($or, $expr).
type clause struct {
	path string
	op   string
	arg  value
	or   [][]clause // the branches of $or
}

// clausesOf takes a query apart: $and is flattened, {a: {$gt: 1, $lt: 5}} is
// two clauses, and what means the same is written the same ($in of one is $eq,
// $ne is $not of $eq). The query must have compiled.
func clausesOf(query []byte) []clause {
	var out []clause
	for name, v := range fields(query) {
		switch path := string(name); {
		case path == "$and":
			for _, part := range fields(v.Value) {
				out = append(out, clausesOf(part.Value)...)
			}
		case path == "$or":
			out = append(out, disjunction(v)...)
		case path == "$comment":
		case isOperator(path) && !isReference(path):
			out = append(out, clause{op: path, arg: v})
		default:
			out = append(out, pathClauses(path, v)...)
		}
	}
	return out
}

// disjunction is $or; one branch alone is no choice.
func disjunction(v value) []clause {
	c := clause{op: "$or", arg: v}
	for _, branch := range fields(v.Value) {
		c.or = append(c.or, clausesOf(branch.Value))
	}
	if len(c.or) == 1 {
		return c.or[0]
	}
	return []clause{c}
}

func pathClauses(path string, v value) []clause {
	if v.Type == bson.TypeRegex {
		return []clause{{path: path, op: "$regex", arg: v}}
	}
	op, _, ok := first(v.Value)
	if !isObject(v) || !ok || !isOperator(op) || isReference(op) {
		return []clause{{path: path, op: "$eq", arg: v}}
	}
	var out []clause
	for name, arg := range fields(v.Value) {
		out = append(out, operatorClauses(path, string(name), arg, v.Value)...)
	}
	return out
}

func operatorClauses(path, op string, arg value, beside []byte) []clause {
	one := func(op string, arg value) []clause { return []clause{{path: path, op: op, arg: arg}} }
	opposite := func(c clause) []clause {
		return one("$not", objectValue(documentOf(field{c.op, c.arg})))
	}
	switch op {
	case "$options":
		return nil
	case "$regex":
		if isString(arg) {
			arg = regexValue(textAt(arg.Value), textAt(lookup(beside, "$options").Value))
		}
		return one("$regex", arg)
	case "$ne":
		return opposite(clause{op: "$eq", arg: arg})
	case "$in":
		c := membershipClause(path, arg)
		return []clause{c}
	case "$nin":
		return opposite(membershipClause(path, arg))
	case "$exists":
		if !truthy(arg) {
			return opposite(clause{op: "$exists", arg: boolValue(true)})
		}
		return one(op, boolValue(true))
	case "$all":
		var out []clause
		for _, e := range fields(arg.Value) {
			out = append(out, pathClauses(path, e)...)
		}
		return out
	}
	return one(op, arg)
}

func regexValue(pattern, options string) value {
	b := append([]byte(pattern), 0)
	return value{Type: bson.TypeRegex, Value: append(append(b, options...), 0)}
}

// membershipClause is $in with its values in order, each once.
func membershipClause(path string, arg value) clause {
	list := items(arg)
	slices.SortStableFunc(list, compare)
	list = slices.CompactFunc(list, func(a, b value) bool { return compare(a, b) == 0 })
	if len(list) == 1 && list[0].Type != bson.TypeRegex {
		return clause{path: path, op: "$eq", arg: list[0]}
	}
	return clause{path: path, op: "$in", arg: arrayOf(list)}
}

// clauseOrder is the order in which explain lists conditions.
var clauseOrder = map[string]int{
	"$or": 1, "$elemMatch": 2, "$size": 4, "$eq": 5, "$lte": 6, "$lt": 7, "$gt": 8, "$gte": 9, "$regex": 10, "$mod": 11,
	"$exists": 12, "$in": 13, "$bitsAllSet": 14, "$bitsAllClear": 15, "$bitsAnySet": 16, "$bitsAnyClear": 17,
	"$not": 18, "$nor": 19, "$type": 20, "$expr": 30, "$jsonSchema": 31,
}

// queryOf writes clauses as explain shows a parsed query.
func queryOf(list []clause) bson.Raw {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b clause) int {
		return cmp.Or(cmp.Compare(clauseOrder[a.op], clauseOrder[b.op]), cmp.Compare(a.path, b.path))
	})
	docs := make([]value, len(list))
	for i, c := range list {
		docs[i] = objectValue(c.document())
	}
	switch len(docs) {
	case 0:
		return emptyDocument
	case 1:
		return docs[0].Value
	}
	return documentOf(field{"$and", arrayOf(docs)})
}

func (c clause) document() bson.Raw {
	switch {
	case c.or != nil:
		var branches []value
		for _, b := range c.or {
			branches = append(branches, objectValue(queryOf(b)))
		}
		return documentOf(field{"$or", arrayOf(branches)})
	case c.path == "":
		return documentOf(field{c.op, c.arg})
	case c.op == "$regex":
		pattern, options := regexAt(c.arg.Value)
		test := []field{{"$regex", stringValue(pattern)}}
		if options != "" {
			test = append(test, field{"$options", stringValue(options)})
		}
		return documentOf(field{c.path, objectValue(documentOf(test...))})
	}
	return documentOf(field{c.path, objectValue(documentOf(field{c.op, c.arg}))})
}

// Parsed returns the query as explain shows it.
func (f *Filter) Parsed() bson.Raw {
	if f == nil {
		return emptyDocument
	}
	return queryOf(f.clauses)
}

// Shape returns the query with the types of its values in their place.
func (f *Filter) Shape() bson.Raw {
	if f == nil {
		return emptyDocument
	}
	return shapeOf(f.Parsed())
}

func shapeOf(doc []byte) bson.Raw {
	b, start := openDocument(nil)
	for name, v := range fields(doc) {
		switch {
		case isObject(v):
			v = objectValue(shapeOf(v.Value))
		case isArray(v) && (string(name) == "$and" || string(name) == "$or" || string(name) == "$nor"):
			v = arrayValue(shapeOf(v.Value))
		default:
			v = stringValue("?" + typeName(v))
		}
		b = appendField(b, name, v)
	}
	return closeDocument(b, start)
}
