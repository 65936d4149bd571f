package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
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
	name, spec, _ := first(s)
	if !isObject(spec) || name != "$facet" && name != "$lookup" && name != "$unionWith" {
		return s
	}
	for option, v := range fields(spec.Value) {
		if !isArray(v) || name != "$facet" && string(option) != "pipeline" {
			continue
		}
		var stages []bson.Raw
		for _, inner := range fields(v.Value) {
			stages = append(stages, inner.Value)
		}
		var list []value
		for _, inner := range Ordered(stages) {
			list = append(list, objectValue(inner))
		}
		spec = objectValue(withField(spec.Value, string(option), arrayOf(list)))
	}
	return documentOf(field{name, spec})
}

// oneOfEach are the stages that make one document of each.
var oneOfEach = []string{"$project", "$addFields", "$set", "$unset", "$replaceRoot", "$replaceWith"}

// reordered returns what takes the place of two stages, nil where they stay, and how
// far from the first of them there may be more to do.
func reordered(a, b bson.Raw) (instead []bson.Raw, goOn int) {
	name, spec, _ := first(a)
	next, arg, _ := first(b)
	switch {
	case next == "$skip" && slices.Contains(oneOfEach, name):
		return []bson.Raw{b, a}, -1
	case name == "$unionWith" && (next == "$match" || slices.Contains(oneOfEach, next)):
		return []bson.Raw{b, unionThen(spec, b)}, -1
	case next != "$match":
		return nil, 0
	case name == "$match":
		return []bson.Raw{matchOf([]value{spec, arg})}, -1
	case name == "$redact":
		if safe := redactSafe(arg.Value); !isEmpty(safe) {
			return []bson.Raw{matchOf([]value{objectValue(safe)}), a, b}, 2
		}
		return nil, 0
	}
	if by, known := changedBy(name, spec); known {
		return matchBefore(a, by, arg), -1
	}
	return nil, 0
}

// matchBefore lets a $match, or what of it can, go before a stage.
func matchBefore(s bson.Raw, by changed, filter value) []bson.Raw {
	var before, after []value
	for _, c := range conjuncts(filter.Value) {
		if renamed, free := by.before(c); free {
			before = append(before, renamed)
			continue
		}
		after = append(after, objectValue(documentOf(c)))
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
func conjuncts(query []byte) []field {
	var list []field
	for name, v := range fields(query) {
		switch op := string(name); op {
		case "$and":
			for _, part := range fields(v.Value) {
				list = append(list, conjuncts(part.Value)...)
			}
		case "$nor":
			for _, part := range fields(v.Value) {
				list = append(list, field{op, arrayOf([]value{part})})
			}
		default:
			list = append(list, field{op, v})
		}
	}
	return list
}

// matchOf is a $match of all of several queries.
func matchOf(queries []value) bson.Raw {
	all := queries[0]
	if len(queries) > 1 {
		all = objectValue(documentOf(field{"$and", arrayOf(queries)}))
	}
	return documentOf(field{"$match", all})
}

// unionThen puts a stage that comes after a $unionWith into its pipeline.
func unionThen(spec value, s bson.Raw) bson.Raw {
	if isString(spec) {
		spec = objectValue(documentOf(field{"coll", spec}))
	}
	var stages []value
	for _, inner := range fields(lookup(spec.Value, "pipeline").Value) {
		stages = append(stages, inner)
	}
	return documentOf(field{"$unionWith",
		objectValue(withField(spec.Value, "pipeline", arrayOf(append(stages, objectValue(s)))))})
}

// redactSafe returns what of a query holds for a document only if it holds for the one
// that $redact makes of it, which has lost fields perhaps: no condition that holds for
// what is missing.
func redactSafe(query []byte) bson.Raw {
	var list []field
	for name, v := range fields(query) {
		switch path := string(name); {
		case path == "$or":
			if branches := items(v); !slices.ContainsFunc(branches, func(b value) bool { return isEmpty(redactSafe(b.Value)) }) {
				list = append(list, field{path, arrayOf(safeParts(branches))})
			}
		case path == "$and":
			if parts := safeParts(items(v)); len(parts) > 0 {
				list = append(list, field{path, arrayOf(parts)})
			}
		case isOperator(path) || slices.ContainsFunc(splitPath(path), isArrayIndex):
		case isObject(v) && isExpressionDoc(v.Value):
			if tests := redactSafeTests(v.Value); !isEmpty(tests) {
				list = append(list, field{path, objectValue(tests)})
			}
		case redactSafeType(v):
			list = append(list, field{path, v})
		}
	}
	return documentOf(list...)
}

func safeParts(queries []value) (parts []value) {
	for _, q := range queries {
		if safe := redactSafe(q.Value); !isEmpty(safe) {
			parts = append(parts, objectValue(safe))
		}
	}
	return parts
}

// redactSafeTests is redactSafe for the operators on one path.
func redactSafeTests(tests []byte) bson.Raw {
	var list []field
	for name, v := range fields(tests) {
		switch op := string(name); op {
		case "$type", "$regex", "$options", "$mod":
			list = append(list, field{op, v})
		case "$eq", "$lt", "$lte", "$gt", "$gte":
			if redactSafeType(v) {
				list = append(list, field{op, v})
			}
		case "$in":
			if !slices.ContainsFunc(items(v), func(e value) bool { return !redactSafeType(e) }) {
				list = append(list, field{op, v})
			}
		case "$all":
			safe := slices.DeleteFunc(items(v), func(e value) bool { return !redactSafeType(e) })
			if len(safe) > 0 {
				list = append(list, field{op, arrayOf(safe)})
			}
		case "$elemMatch":
			inner := redactSafe(v.Value)
			if isExpressionDoc(v.Value) {
				inner = redactSafeTests(v.Value)
			}
			if !isEmpty(inner) {
				list = append(list, field{op, objectValue(inner)})
			}
		}
	}
	return documentOf(list...)
}

// redactSafeType: documents and arrays lose parts, and null is what is missing.
func redactSafeType(v value) bool { return !isObject(v) && !isArray(v) && !isNullish(v) }
