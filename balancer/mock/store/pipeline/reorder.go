package pipeline

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/value"
)

// Before it runs a pipeline, the server reorders stages so that expensive stages receive fewer documents
// (manual, "Aggregation Pipeline Optimization"). The results are the same. But an expression that fails
// on a document fails only if the document reaches the stage. So the order must be the server's.

// Reorder returns the stages of a compiled pipeline in the order in which a server runs them. It also
// reorders sub-pipelines.
func Reorder(stages []bson.Raw) []bson.Raw {
	list := slices.Clone(stages)
	for i := 0; i+1 < len(list); {
		instead, goOn := reorderPair(list[i], list[i+1])
		if instead == nil {
			i++
			continue
		}
		list = slices.Replace(list, i, i+2, instead...)
		i = max(i+goOn, 0)
	}
	for i, s := range list {
		list[i] = reorderInside(s)
	}
	return list
}

// reorderInside reorders the pipelines inside a stage.
func reorderInside(s bson.Raw) bson.Raw {
	name, spec, _ := document.FirstField(s)
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
		for _, inner := range Reorder(stages) {
			list = append(list, value.Object(inner))
		}
		spec = value.Object(document.WithField(spec.Value, string(option), document.Array(list)))
	}
	return document.New(document.Field{Name: name, Value: spec})
}

// perDocumentStageNames are the stages that return one document per input document.
var perDocumentStageNames = []string{"$project", "$addFields", "$set", "$unset", "$replaceRoot", "$replaceWith"}

// reorderPair returns the replacement of two adjacent stages, or nil if they stay. continueAt is the offset,
// from the first stage, at which to continue.
func reorderPair(a, b bson.Raw) (instead []bson.Raw, continueAt int) {
	name, spec, _ := document.FirstField(a)
	next, arg, _ := document.FirstField(b)
	switch {
	case next == "$skip" && slices.Contains(perDocumentStageNames, name):
		return []bson.Raw{b, a}, -1
	case name == "$unionWith" && (next == "$match" || slices.Contains(perDocumentStageNames, next)):
		return []bson.Raw{b, pushIntoUnion(spec, b)}, -1
	case next != "$match":
		return nil, 0
	case name == "$match":
		return []bson.Raw{newMatchSpec([]value.Value{spec, arg})}, -1
	case name == "$redact":
		if safe := redactSafeQuery(arg.Value); !document.IsEmpty(safe) {
			return []bson.Raw{newMatchSpec([]value.Value{value.Object(safe)}), a, b}, 2
		}
		return nil, 0
	}
	if by, known := stageFieldChanges(name, spec); known {
		return moveMatchBefore(a, by, arg), -1
	}
	return nil, 0
}

// moveMatchBefore moves a $match, or the part of it that can move, before a stage.
func moveMatchBefore(s bson.Raw, by fieldChanges, filter value.Value) []bson.Raw {
	var before, after []value.Value
	for _, c := range splitConjuncts(filter.Value) {
		if renamed, free := by.rewriteBefore(c); free {
			before = append(before, renamed)
			continue
		}
		after = append(after, value.Object(document.New(c)))
	}
	switch {
	case len(before) == 0:
		return nil
	case len(after) == 0:
		return []bson.Raw{newMatchSpec(before), s}
	}
	return []bson.Raw{newMatchSpec(before), s, newMatchSpec(after)}
}

// splitConjuncts splits a query into the conditions of its conjunction.
func splitConjuncts(query []byte) []document.Field {
	var list []document.Field
	for name, v := range document.Fields(query) {
		switch op := string(name); op {
		case "$and":
			for _, part := range document.Fields(v.Value) {
				list = append(list, splitConjuncts(part.Value)...)
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

// newMatchSpec returns a $match of the conjunction of several queries.
func newMatchSpec(queries []value.Value) bson.Raw {
	all := queries[0]
	if len(queries) > 1 {
		all = value.Object(document.New(document.Field{Name: "$and", Value: document.Array(queries)}))
	}
	return document.New(document.Field{Name: "$match", Value: all})
}

// pushIntoUnion appends a copy of the stage after a $unionWith to the pipeline of the $unionWith.
func pushIntoUnion(spec value.Value, s bson.Raw) bson.Raw {
	if value.IsString(spec) {
		spec = value.Object(document.New(document.Field{Name: "coll", Value: spec}))
	}
	var stages []value.Value
	for _, inner := range document.Fields(document.Lookup(spec.Value, "pipeline").Value) {
		stages = append(stages, inner)
	}
	return document.New(document.Field{Name: "$unionWith",
		Value: value.Object(document.WithField(spec.Value, "pipeline", document.Array(append(stages, value.Object(s)))))})
}

// redactSafeQuery returns the conditions of a query that may be tested before $redact: they match a redacted
// document only if they match the original one. $redact may remove fields, so redactSafeQuery returns no
// condition that matches a missing value.
func redactSafeQuery(query []byte) bson.Raw {
	var list []document.Field
	for name, v := range document.Fields(query) {
		switch path := string(name); {
		case path == "$or":
			if branches := document.Items(v); !slices.ContainsFunc(branches,
				func(b value.Value) bool { return document.IsEmpty(redactSafeQuery(b.Value)) }) {
				list = append(list, document.Field{Name: path, Value: document.Array(redactSafeParts(branches))})
			}
		case path == "$and":
			if parts := redactSafeParts(document.Items(v)); len(parts) > 0 {
				list = append(list, document.Field{Name: path, Value: document.Array(parts)})
			}
		case document.IsOperator(path) || slices.ContainsFunc(paths.Split(path), paths.IsArrayIndex):
		case value.IsObject(v) && document.IsExpression(v.Value):
			if tests := redactSafeTests(v.Value); !document.IsEmpty(tests) {
				list = append(list, document.Field{Name: path, Value: value.Object(tests)})
			}
		case isRedactSafe(v):
			list = append(list, document.Field{Name: path, Value: v})
		}
	}
	return document.New(list...)
}

func redactSafeParts(queries []value.Value) (parts []value.Value) {
	for _, q := range queries {
		if safe := redactSafeQuery(q.Value); !document.IsEmpty(safe) {
			parts = append(parts, value.Object(safe))
		}
	}
	return parts
}

// redactSafeTests is like redactSafeQuery, for the operators on one path.
func redactSafeTests(tests []byte) bson.Raw {
	var list []document.Field
	for name, v := range document.Fields(tests) {
		switch op := string(name); op {
		case "$type", "$regex", "$options", "$mod":
			list = append(list, document.Field{Name: op, Value: v})
		case "$eq", "$lt", "$lte", "$gt", "$gte":
			if isRedactSafe(v) {
				list = append(list, document.Field{Name: op, Value: v})
			}
		case "$in":
			if !slices.ContainsFunc(document.Items(v), func(e value.Value) bool { return !isRedactSafe(e) }) {
				list = append(list, document.Field{Name: op, Value: v})
			}
		case "$all":
			safe := slices.DeleteFunc(document.Items(v), func(e value.Value) bool { return !isRedactSafe(e) })
			if len(safe) > 0 {
				list = append(list, document.Field{Name: op, Value: document.Array(safe)})
			}
		case "$elemMatch":
			inner := redactSafeQuery(v.Value)
			if document.IsExpression(v.Value) {
				inner = redactSafeTests(v.Value)
			}
			if !document.IsEmpty(inner) {
				list = append(list, document.Field{Name: op, Value: value.Object(inner)})
			}
		}
	}
	return document.New(list...)
}

// isRedactSafe reports whether $redact cannot change a value into v. Documents and arrays may lose
// parts, and null equals a missing value.
func isRedactSafe(v value.Value) bool {
	return !value.IsObject(v) && !value.IsArray(v) && !value.IsNullish(v)
}
