package pipeline

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/value"
)

// The server moves stages before it runs a pipeline, so that fewer documents come to
// what costs more (manual, "Aggregation Pipeline Optimization"). The documents that come
// out are the same, but an expression that fails on a document fails only if the document
// gets that far: the order has to be the server's.

// Ordered returns the stages of a pipeline, which must have compiled, in the order in
// which a server runs them; those of pipelines inside, too.
func Ordered(stages []bson.Raw) []bson.Raw {
	list := slices.Clone(stages)
	for i := 0; i+1 < len(list); {
		instead, goOn := reordered(list[i], list[i+1])
		if instead == nil {
			i++
			continue
		}
		list = slices.Replace(list, i, i+2, instead...)
		i = max(i+goOn, 0)
	}
	for i, s := range list {
		list[i] = orderedInside(s)
	}
	return list
}

// orderedInside puts the pipelines inside a stage in order.
func orderedInside(s bson.Raw) bson.Raw {
	name, spec, _ := document.First(s)
	if !value.IsObject(spec) || name != "$facet" && name != "$lookup" && name != "$unionWith" {
		return s
	}
	for option, v := range document.Fields(spec.Value) {
		if !value.IsArray(v) || name != "$facet" && string(option) != "pipeline" {
			continue
		}
		var stages []bson.Raw
		for _, inner := range document.Fields(v.Value) {
			stages = append(stages, inner.Value)
		}
		var list []value.Value
		for _, inner := range Ordered(stages) {
			list = append(list, value.Object(inner))
		}
		spec = value.Object(document.With(spec.Value, string(option), document.Array(list)))
	}
	return document.Of(document.Field{Name: name, Value: spec})
}

// oneOfEach are the stages that make one document of each.
var oneOfEach = []string{"$project", "$addFields", "$set", "$unset", "$replaceRoot", "$replaceWith"}

// reordered returns what takes the place of two stages, nil where they stay, and how
// far from the first of them there may be more to do.
func reordered(a, b bson.Raw) (instead []bson.Raw, goOn int) {
	name, spec, _ := document.First(a)
	next, arg, _ := document.First(b)
	switch {
	case next == "$skip" && slices.Contains(oneOfEach, name):
		return []bson.Raw{b, a}, -1
	case name == "$unionWith" && (next == "$match" || slices.Contains(oneOfEach, next)):
		return []bson.Raw{b, unionThen(spec, b)}, -1
	case next != "$match":
		return nil, 0
	case name == "$match":
		return []bson.Raw{matchOf([]value.Value{spec, arg})}, -1
	case name == "$redact":
		if safe := redactSafe(arg.Value); !document.IsEmpty(safe) {
			return []bson.Raw{matchOf([]value.Value{value.Object(safe)}), a, b}, 2
		}
		return nil, 0
	}
	if by, known := changedBy(name, spec); known {
		return matchBefore(a, by, arg), -1
	}
	return nil, 0
}

// matchBefore lets a $match, or what of it can, go before a stage.
func matchBefore(s bson.Raw, by fieldChanges, filter value.Value) []bson.Raw {
	var before, after []value.Value
	for _, c := range conjuncts(filter.Value) {
		if renamed, free := by.before(c); free {
			before = append(before, renamed)
			continue
		}
		after = append(after, value.Object(document.Of(c)))
	}
	switch {
	case len(before) == 0:
		return nil
	case len(after) == 0:
		return []bson.Raw{matchOf(before), s}
	}
	return []bson.Raw{matchOf(before), s, matchOf(after)}
}

// conjuncts takes a query apart into what must all hold.
func conjuncts(query []byte) []document.Field {
	var list []document.Field
	for name, v := range document.Fields(query) {
		switch op := string(name); op {
		case "$and":
			for _, part := range document.Fields(v.Value) {
				list = append(list, conjuncts(part.Value)...)
			}
		case "$nor":
			for _, part := range document.Fields(v.Value) {
				list = append(list, document.Field{Name: op, Value: document.Array([]value.Value{part})})
			}
		default:
			list = append(list, document.Field{Name: op, Value: v})
		}
	}
	return list
}

// matchOf is a $match of all of several queries.
func matchOf(queries []value.Value) bson.Raw {
	all := queries[0]
	if len(queries) > 1 {
		all = value.Object(document.Of(document.Field{Name: "$and", Value: document.Array(queries)}))
	}
	return document.Of(document.Field{Name: "$match", Value: all})
}

// unionThen puts a stage that comes after a $unionWith into its pipeline.
func unionThen(spec value.Value, s bson.Raw) bson.Raw {
	if value.IsString(spec) {
		spec = value.Object(document.Of(document.Field{Name: "coll", Value: spec}))
	}
	var stages []value.Value
	for _, inner := range document.Fields(document.Lookup(spec.Value, "pipeline").Value) {
		stages = append(stages, inner)
	}
	return document.Of(document.Field{Name: "$unionWith",
		Value: value.Object(document.With(spec.Value, "pipeline", document.Array(append(stages, value.Object(s)))))})
}

// redactSafe returns what of a query holds for a document only if it holds for the one
// that $redact makes of it, which has lost fields perhaps: no condition that holds for
// what is missing.
func redactSafe(query []byte) bson.Raw {
	var list []document.Field
	for name, v := range document.Fields(query) {
		switch path := string(name); {
		case path == "$or":
			if branches := document.Items(v); !slices.ContainsFunc(branches,
				func(b value.Value) bool { return document.IsEmpty(redactSafe(b.Value)) }) {
				list = append(list, document.Field{Name: path, Value: document.Array(safeParts(branches))})
			}
		case path == "$and":
			if parts := safeParts(document.Items(v)); len(parts) > 0 {
				list = append(list, document.Field{Name: path, Value: document.Array(parts)})
			}
		case document.IsOperator(path) || slices.ContainsFunc(paths.Split(path), paths.IsArrayIndex):
		case value.IsObject(v) && document.IsExpression(v.Value):
			if tests := redactSafeTests(v.Value); !document.IsEmpty(tests) {
				list = append(list, document.Field{Name: path, Value: value.Object(tests)})
			}
		case redactSafeType(v):
			list = append(list, document.Field{Name: path, Value: v})
		}
	}
	return document.Of(list...)
}

func safeParts(queries []value.Value) (parts []value.Value) {
	for _, q := range queries {
		if safe := redactSafe(q.Value); !document.IsEmpty(safe) {
			parts = append(parts, value.Object(safe))
		}
	}
	return parts
}

// redactSafeTests is redactSafe for the operators on one path.
func redactSafeTests(tests []byte) bson.Raw {
	var list []document.Field
	for name, v := range document.Fields(tests) {
		switch op := string(name); op {
		case "$type", "$regex", "$options", "$mod":
			list = append(list, document.Field{Name: op, Value: v})
		case "$eq", "$lt", "$lte", "$gt", "$gte":
			if redactSafeType(v) {
				list = append(list, document.Field{Name: op, Value: v})
			}
		case "$in":
			if !slices.ContainsFunc(document.Items(v), func(e value.Value) bool { return !redactSafeType(e) }) {
				list = append(list, document.Field{Name: op, Value: v})
			}
		case "$all":
			safe := slices.DeleteFunc(document.Items(v), func(e value.Value) bool { return !redactSafeType(e) })
			if len(safe) > 0 {
				list = append(list, document.Field{Name: op, Value: document.Array(safe)})
			}
		case "$elemMatch":
			inner := redactSafe(v.Value)
			if document.IsExpression(v.Value) {
				inner = redactSafeTests(v.Value)
			}
			if !document.IsEmpty(inner) {
				list = append(list, document.Field{Name: op, Value: value.Object(inner)})
			}
		}
	}
	return document.Of(list...)
}

// redactSafeType: documents and arrays lose parts, and null is what is missing.
func redactSafeType(v value.Value) bool {
	return !value.IsObject(v) && !value.IsArray(v) && !value.IsNullish(v)
}
