package filter

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/value"
)

// Mismatch returns why a document does not match a collection's validator, in the format of
// errInfo.details of error 121. It evaluates the parts of the validator separately, so the document must
// be known not to match. language is that of the validator's expressions.
func Mismatch(validator, doc bson.Raw, language expr.Language) bson.D {
	m := mismatch{doc: doc, language: language}
	return m.explainConjunction(validator, false)
}

type mismatch struct {
	doc      bson.Raw
	language expr.Language
}

// writtenClause is one predicate of a query: {path: {op: arg}}, {path: value} or
// {op: arg}.
type writtenClause struct {
	op, path string
	arg      value.Value
	spec     bson.Raw
}

func writtenClauses(query []byte) []writtenClause {
	var list []writtenClause
	for n, v := range document.Fields(query) {
		name := string(n)
		if document.IsOperator(name) {
			list = append(list, writtenClause{op: name, arg: v, spec: document.New(document.Field{Name: name, Value: v})})
			continue
		}
		list = append(list, clausesAt(name, v)...)
	}
	return slices.DeleteFunc(list, func(c writtenClause) bool { return c.op == "$comment" })
}

func clausesAt(path string, v value.Value) []writtenClause {
	whole := document.New(document.Field{Name: path, Value: v})
	if v.Type == bson.TypeRegex {
		return []writtenClause{{"$regex", path, v, whole}}
	}
	if !value.IsObject(v) || !document.IsExpression(v.Value) {
		return []writtenClause{{"$eq", path, v, whole}}
	}
	var list []writtenClause
	options := document.Lookup(v.Value, "$options")
	for op, arg := range document.Fields(v.Value) {
		switch string(op) {
		case "$options":
			continue
		case "$regex":
			arg = value.Object(document.New(document.Field{Name: "$regex", Value: arg},
				document.Field{Name: "$options", Value: options}))
		default:
			arg = value.Object(document.New(document.Field{Name: string(op), Value: arg}))
		}
		_, inner, _ := document.FirstField(arg.Value)
		list = append(list, writtenClause{string(op), path, inner, document.New(document.Field{Name: path, Value: arg})})
	}
	return list
}

// explainConjunction explains a query: its only clause, or an $and of its clauses. inverted means that
// the query should not match.
func (m mismatch) explainConjunction(query []byte, inverted bool) bson.D {
	list := writtenClauses(query)
	if len(list) == 1 {
		return m.explainClause(list[0], inverted)
	}
	return m.explainGroup("$and", inverted, len(list), func(i int) bson.D { return m.explainClause(list[i], inverted) })
}

// explainGroup explains the branches of $and, $or and $nor that caused the mismatch.
func (m mismatch) explainGroup(op string, inverted bool, n int, each func(i int) bson.D) bson.D {
	blamed := bson.A{}
	for i := range n {
		if details := each(i); details != nil {
			blamed = append(blamed, bson.D{{Key: "index", Value: int32(i)}, {Key: "details", Value: details}})
		}
	}
	if len(blamed) == 0 {
		return nil
	}
	name := "clausesNotSatisfied"
	if inverted != (op == "$nor") {
		name = "clausesSatisfied"
	}
	return bson.D{{Key: "operatorName", Value: op}, {Key: name, Value: blamed}}
}

// explainClause explains one predicate. It returns nil if the predicate is satisfied.
func (m mismatch) explainClause(c writtenClause, inverted bool) bson.D {
	if f, err := CompileWith(c.spec, Options{Language: m.language}); err != nil || f.Match(m.doc) == !inverted {
		return nil
	}
	switch c.op {
	case "$and", "$or", "$nor":
		list := document.Items(c.arg)
		below := inverted != (c.op == "$nor")
		return m.explainGroup(c.op, inverted, len(list),
			func(i int) bson.D { return m.explainConjunction(list[i].Value, below) })
	case "$not":
		if value.IsObject(c.arg) {
			return bson.D{{Key: "operatorName", Value: "$not"},
				{Key: "details", Value: m.explainConjunction(document.New(document.Field{Name: c.path, Value: c.arg}), !inverted)}}
		}
		inner := writtenClause{"$regex", c.path, c.arg, document.New(document.Field{Name: c.path, Value: c.arg})}
		return bson.D{{Key: "operatorName", Value: "$not"}, {Key: "details", Value: m.explainClause(inner, !inverted)}}
	case "$jsonSchema":
		if !inverted {
			return m.explainSchema(c.arg)
		}
	}
	out := bson.D{{Key: "operatorName", Value: c.op}, {Key: "specifiedAs", Value: c.spec}}
	return append(out, m.explainPredicate(c, inverted)...)
}

// mismatchReasons are the messages for predicates that should match but don't, and for those that match
// but should not.
var mismatchReasons = map[string][2]string{
	"$eq": {"comparison failed", "comparison succeeded"}, "$gt": {"comparison failed", "comparison succeeded"},
	"$gte": {"comparison failed", "comparison succeeded"}, "$lt": {"comparison failed", "comparison succeeded"},
	"$lte": {"comparison failed", "comparison succeeded"}, "$ne": {"comparison succeeded", "comparison failed"},
	"$in":          {"no matching value found in array", "matching value found in array"},
	"$nin":         {"matching value found in array", "no matching value found in array"},
	"$exists":      {"path does not exist", "path does exist"},
	"$type":        {"type did not match", "type did match"},
	"$regex":       {"regular expression did not match", "regular expression did match"},
	"$mod":         {"$mod did not evaluate to expected remainder", "$mod did evaluate to expected remainder"},
	"$size":        {"array length was not equal to given size", "array length was equal to given size"},
	"$all":         {"array did not contain all specified values", "array did contain all specified values"},
	"$elemMatch":   {"array did not satisfy the child predicate", "array did satisfy the child predicate"},
	"$expr":        {"expression did not match", "expression did match"},
	"$jsonSchema":  {"schema did not match", "schema matched"},
	"$alwaysFalse": {"expression always evaluates to false", ""},
	"$alwaysTrue":  {"", "expression always evaluates to true"},

	"$bitsAllSet":   {"bitwise operator failed to match", "bitwise operator matched successfully"},
	"$bitsAllClear": {"bitwise operator failed to match", "bitwise operator matched successfully"},
	"$bitsAnySet":   {"bitwise operator failed to match", "bitwise operator matched successfully"},
	"$bitsAnyClear": {"bitwise operator failed to match", "bitwise operator matched successfully"},
}

func (m mismatch) explainPredicate(c writtenClause, inverted bool) bson.D {
	words := mismatchReasons[c.op][0]
	if inverted {
		words = mismatchReasons[c.op][1]
	}
	if c.op == "$exists" && value.IsTruthy(c.arg) == inverted {
		words = mismatchReasons[c.op][1]
	} else if c.op == "$exists" {
		words = mismatchReasons[c.op][0]
	}
	reason := bson.D{{Key: "reason", Value: words}}
	if c.path == "" {
		if c.op == "$expr" {
			return append(reason, bson.E{Key: "expressionResult", Value: m.evalExpr(c)})
		}
		return reason
	}
	seen := m.consideredValues(c)
	if len(seen) == 0 {
		if c.op != "$exists" {
			reason[0].Value = "field was missing"
		}
		return reason
	}
	expected := expectedTypes(c)
	wrongType := !inverted && len(expected) > 0 && !slices.ContainsFunc(seen, func(v value.Value) bool {
		return slices.Contains(expected, value.TypeName(v))
	})
	if wrongType {
		reason[0].Value = "type did not match"
	}
	reason = append(reason, consideredField(seen)...)
	if c.op == "$type" || wrongType {
		reason = append(reason, oneOrMany("consideredType", typeNames(seen)))
	}
	if wrongType {
		reason = append(reason, oneOrMany("expectedType", expected))
	}
	return reason
}

// evalExpr returns the value of the expression in a $expr.
func (m mismatch) evalExpr(c writtenClause) any {
	sc, err := expr.NewScope(m.language, nil)
	if err != nil {
		return nil
	}
	e, err := expr.Compile(c.arg, sc)
	if err != nil {
		return nil
	}
	ctx := expr.NewEvaluation(sc, time.Time{}, nil)
	ctx.Root = value.Object(m.doc)
	v, err := e.Eval(ctx)
	if err != nil || value.IsMissing(v) {
		return nil
	}
	return v
}

// consideredValues returns the values that a predicate has tested: the elements of an array and the
// array itself, or only the array if the predicate does not test elements.
func (m mismatch) consideredValues(c writtenClause) []value.Value {
	whole := c.op == "$size" || c.op == "$elemMatch" || c.op == "$all" || c.op == "$exists"
	var seen []value.Value
	paths.Walk(nil, m.doc, paths.Split(c.path), !whole, func(v value.Value, _ int) bool {
		if !value.IsMissing(v) {
			seen = append(seen, v)
		}
		return false
	})
	return seen
}

// expectedTypes returns the only types that a predicate can match, nil if it can match any type.
func expectedTypes(c writtenClause) []string {
	numbers := []string{"decimal", "double", "int", "long"}
	switch c.op {
	case "$mod":
		return numbers
	case "$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear":
		return append([]string{"binData"}, numbers...)
	case "$regex":
		return []string{"regex", "string", "symbol"}
	case "$size", "$elemMatch":
		return []string{"array"}
	}
	return nil
}

func consideredField(seen []value.Value) bson.D {
	if len(seen) == 1 {
		return bson.D{{Key: "consideredValue", Value: seen[0]}}
	}
	return bson.D{{Key: "consideredValues", Value: document.ListOf(seen)}}
}

func typeNames(seen []value.Value) []string {
	var names []string
	for _, v := range seen {
		names = append(names, value.TypeName(v))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// oneOrMany returns a field for a single name, or a field with the plural name for several names.
func oneOrMany(name string, list []string) bson.E {
	if len(list) == 1 {
		return bson.E{Key: name, Value: list[0]}
	}
	return bson.E{Key: name + "s", Value: list}
}
