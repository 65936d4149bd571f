package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// schemaOrder returns the order in which the server looks at the keywords of a
// schema, and so the order of what it finds wrong.
func schemaOrder() []string {
	return []string{
		"maximum", "minimum", "maxLength", "minLength", "pattern", "multipleOf",
		"minItems", "maxItems", "uniqueItems", "items", "additionalItems",
		"properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties",
		"dependencies",
		"allOf", "anyOf", "oneOf", "not", "enum", "bsonType", "type",
	}
}

// schemaReasons are the words for the keywords that blame one value.
var schemaReasons = map[string]string{
	"maximum": "comparison failed", "minimum": "comparison failed",
	"maxLength": "specified string length was not satisfied", "minLength": "specified string length was not satisfied",
	"pattern":    "regular expression did not match",
	"multipleOf": "considered value is not a multiple of the specified value",
	"minItems":   "array did not match specified length", "maxItems": "array did not match specified length",
	"enum": "value was not found in enum", "bsonType": "type did not match", "type": "type did not match",
}

// schema explains $jsonSchema.
func (m mismatch) schema(schema value) bson.D {
	out := append(bson.D{{Key: "operatorName", Value: "$jsonSchema"}}, annotations(schema)...)
	return append(out, bson.E{Key: "schemaRulesNotSatisfied", Value: brokenRules(schema, objectValue(m.doc))})
}

// annotations returns what a schema says about itself.
func annotations(schema value) bson.D {
	var out bson.D
	for _, name := range []string{"title", "description"} {
		if v := lookup(schema.Value, name); !isMissing(v) {
			out = append(out, bson.E{Key: name, Value: v})
		}
	}
	return out
}

// brokenRules explains each keyword of a schema that a value does not satisfy.
func brokenRules(schema, v value) bson.A {
	broken := bson.A{}
	for _, name := range schemaOrder() {
		arg := lookup(schema.Value, name)
		if isMissing(arg) || satisfies(keywordOnly(schema, name), v) {
			continue
		}
		rule := bson.D{{Key: "operatorName", Value: name}}
		if explain, nested := nestedRules()[name]; nested {
			rule = append(rule, explain(schema, arg, v)...)
		} else {
			rule = append(rule, bson.E{Key: "specifiedAs", Value: keywordSpec(schema, name)})
			rule = append(rule, plainRule(name, v)...)
		}
		broken = append(broken, rule)
	}
	return broken
}

// plainRule blames one value.
func plainRule(name string, v value) bson.D {
	rule := bson.D{{Key: "reason", Value: schemaReasons[name]}}
	switch name {
	case "minProperties", "maxProperties":
		return bson.D{{Key: "reason", Value: "specified number of properties was not satisfied"},
			{Key: "numberOfProperties", Value: int32(fieldCount(v.Value))}}
	case "uniqueItems":
		return bson.D{{Key: "reason", Value: "found a duplicate item"}, {Key: "consideredValue", Value: v},
			{Key: "duplicatedValue", Value: duplicated(v)}}
	}
	rule = append(rule, bson.E{Key: "consideredValue", Value: v})
	if name == "minItems" || name == "maxItems" {
		rule = append(rule, bson.E{Key: "numberOfItems", Value: int32(fieldCount(v.Value))})
	}
	if name == "bsonType" || name == "type" {
		rule = append(rule, bson.E{Key: "consideredType", Value: typeName(v)})
	}
	return rule
}

func duplicated(arr value) value {
	seen := map[string]bool{}
	for _, v := range fields(arr.Value) {
		if seen[encoded(v)] {
			return v
		}
		seen[encoded(v)] = true
	}
	return value{}
}

func satisfies(schema bson.Raw, v value) bool {
	s, err := (&schemaCompiler{}).compile(objectValue(schema))
	return err != nil || s.valid(nil, v)
}

// partners are the keywords that another one is read with.
var partners = map[string][]string{
	"maximum": {"exclusiveMaximum"}, "minimum": {"exclusiveMinimum"},
	"additionalItems": {"items"}, "additionalProperties": {"properties", "patternProperties"},
}

// keywordSpec returns a keyword as it was given.
func keywordSpec(schema value, name string) bson.Raw {
	fs := []field{{name, lookup(schema.Value, name)}}
	if name == "maximum" || name == "minimum" {
		fs = append(fs, field{partners[name][0], lookup(schema.Value, partners[name][0])})
	}
	return documentOf(fs...)
}

// keywordOnly returns a schema of one keyword. What belongs to it is there, but
// allows everything.
func keywordOnly(schema value, name string) bson.Raw {
	fs := []field{{name, lookup(schema.Value, name)}}
	for _, partner := range partners[name] {
		v := lookup(schema.Value, partner)
		if isMissing(v) || partner == "items" && !isArray(v) {
			continue
		}
		if isArray(v) || isObject(v) {
			v = withoutRules(v)
		}
		fs = append(fs, field{partner, v})
	}
	return documentOf(fs...)
}

// withoutRules keeps the names, or the number, of some schemas.
func withoutRules(schemas value) value {
	var fs []field
	for n := range fields(schemas.Value) {
		fs = append(fs, field{string(n), objectValue(emptyDocument)})
	}
	return value{Type: schemas.Type, Value: documentOf(fs...)}
}

// nestedRules explain the keywords that hold schemas or names.
func nestedRules() map[string]func(schema, arg, v value) bson.D {
	return map[string]func(schema, arg, v value) bson.D{
		"properties": brokenProperties, "patternProperties": brokenPatterns, "additionalProperties": brokenAdditional,
		"required": missingRequired, "dependencies": brokenDependencies,
		"items": brokenItems, "additionalItems": brokenMoreItems,
		"allOf": brokenCombination, "anyOf": brokenCombination, "oneOf": brokenOneOf,
		"not": func(_, _, _ value) bson.D { return bson.D{{Key: "reason", Value: "child expression matched"}} },
	}
}

// details explains a value against a schema of its own, after what names it.
func details(named bson.D, schema, v value) bson.D {
	return append(append(named, annotations(schema)...), bson.E{Key: "details", Value: brokenRules(schema, v)})
}

func brokenProperties(_, arg, v value) bson.D {
	list := bson.A{}
	for n, s := range fields(arg.Value) {
		if f := lookup(v.Value, string(n)); !isMissing(f) && !satisfies(s.Value, f) {
			list = append(list, details(bson.D{{Key: "propertyName", Value: string(n)}}, s, f))
		}
	}
	return bson.D{{Key: "propertiesNotSatisfied", Value: list}}
}

func brokenPatterns(_, arg, v value) bson.D {
	list := bson.A{}
	for source, s := range fields(arg.Value) {
		p, err := compilePattern(string(source), "")
		if err != nil {
			continue
		}
		for n, f := range fields(v.Value) {
			if p.matches(nil, string(n)) && !satisfies(s.Value, f) {
				list = append(list, details(bson.D{{Key: "propertyName", Value: string(n)},
					{Key: "regexMatched", Value: string(source)}}, s, f))
			}
		}
	}
	return bson.D{{Key: "details", Value: list}}
}

func brokenAdditional(schema, arg, v value) bson.D {
	var more []field
	for n, f := range fields(v.Value) {
		one := objectValue(documentOf(field{string(n), f}))
		listed := !isMissing(lookup(lookup(schema.Value, "properties").Value, string(n)))
		if !listed && !satisfies(keywordOnly(schema, "additionalProperties"), one) {
			more = append(more, field{string(n), f})
		}
	}
	if isObject(arg) && len(more) > 0 {
		return details(bson.D{{Key: "reason", Value: "at least one additional property did not match the subschema"},
			{Key: "failingProperty", Value: more[0].name}}, arg, more[0].value)
	}
	names := bson.A{}
	for _, f := range more {
		names = append(names, f.name)
	}
	return bson.D{{Key: "specifiedAs", Value: documentOf(field{"additionalProperties", arg})},
		{Key: "additionalProperties", Value: names}}
}

func missingRequired(_, arg, v value) bson.D {
	return bson.D{
		{Key: "specifiedAs", Value: documentOf(field{"required", arg})},
		{Key: "missingProperties", Value: missingNames(arg, v)},
	}
}

// missingNames are sorted, as the server has them.
func missingNames(names, v value) bson.A {
	var missing []string
	for _, n := range fields(names.Value) {
		if isMissing(lookup(v.Value, textAt(n.Value))) {
			missing = append(missing, textAt(n.Value))
		}
	}
	slices.Sort(missing)
	list := bson.A{}
	for _, n := range missing {
		list = append(list, n)
	}
	return list
}

func brokenDependencies(_, arg, v value) bson.D {
	list := bson.A{}
	for n, s := range fields(arg.Value) {
		if isMissing(lookup(v.Value, string(n))) {
			continue
		}
		named := bson.D{{Key: "conditionalProperty", Value: string(n)}}
		if !isArray(s) {
			if !satisfies(s.Value, v) {
				list = append(list, details(named, s, v))
			}
		} else if missing := missingNames(s, v); len(missing) > 0 {
			list = append(list, append(named, bson.E{Key: "missingProperties", Value: missing}))
		}
	}
	return bson.D{{Key: "failingDependencies", Value: list}}
}

const itemReason = "At least one item did not match the sub-schema"

func brokenItems(_, arg, v value) bson.D {
	all := items(v)
	if !isArray(arg) {
		at := slices.IndexFunc(all, func(e value) bool { return !satisfies(arg.Value, e) })
		return details(bson.D{{Key: "reason", Value: itemReason}, {Key: "itemIndex", Value: int32(at)}}, arg, all[at])
	}
	list := bson.A{}
	for i, s := range items(arg) {
		if i < len(all) && !satisfies(s.Value, all[i]) {
			list = append(list, details(bson.D{{Key: "itemIndex", Value: int32(i)}}, s, all[i]))
		}
	}
	return bson.D{{Key: "details", Value: list}}
}

func brokenMoreItems(schema, arg, v value) bson.D {
	from := fieldCount(lookup(schema.Value, "items").Value)
	more := items(v)[from:]
	if !isObject(arg) {
		return bson.D{
			{Key: "specifiedAs", Value: documentOf(field{"additionalItems", arg})},
			{Key: "reason", Value: "found additional items"}, {Key: "additionalItems", Value: arrayOf(more)},
		}
	}
	at := slices.IndexFunc(more, func(e value) bool { return !satisfies(arg.Value, e) })
	return details(bson.D{{Key: "reason", Value: "At least one additional item did not match the sub-schema"},
		{Key: "itemIndex", Value: int32(from + at)}}, arg, more[at])
}

func brokenCombination(_, arg, v value) bson.D {
	list := bson.A{}
	for i, s := range items(arg) {
		if !satisfies(s.Value, v) {
			list = append(list, details(bson.D{{Key: "index", Value: int32(i)}}, s, v))
		}
	}
	return bson.D{{Key: "schemasNotSatisfied", Value: list}}
}

func brokenOneOf(schema, arg, v value) bson.D {
	matching := bson.A{}
	for i, s := range items(arg) {
		if satisfies(s.Value, v) {
			matching = append(matching, int32(i))
		}
	}
	if len(matching) > 1 {
		return bson.D{{Key: "reason", Value: "more than one subschema matched"},
			{Key: "matchingSchemaIndexes", Value: matching}}
	}
	return brokenCombination(schema, arg, v)
}
