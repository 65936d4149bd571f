package filter

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/regex"
	"shardsh/balancer/mock/store/value"
)

// schemaOrder returns the order in which the server checks the keywords of a schema, which is also the
// order of the reported violations.
func schemaOrder() []string {
	return []string{
		"maximum", "minimum", "maxLength", "minLength", "pattern", "multipleOf",
		"minItems", "maxItems", "uniqueItems", "items", "additionalItems",
		"properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties",
		"dependencies",
		"allOf", "anyOf", "oneOf", "not", "enum", "bsonType", "type",
	}
}

// schemaReasons are the messages for the keywords that report a single value.
var schemaReasons = map[string]string{
	"maximum": "comparison failed", "minimum": "comparison failed",
	"maxLength": "specified string length was not satisfied", "minLength": "specified string length was not satisfied",
	"pattern":    "regular expression did not match",
	"multipleOf": "considered value is not a multiple of the specified value",
	"minItems":   "array did not match specified length", "maxItems": "array did not match specified length",
	"enum": "value was not found in enum", "bsonType": "type did not match", "type": "type did not match",
}

// explainSchema explains $jsonSchema.
func (m mismatch) explainSchema(schema value.Value) bson.D {
	out := append(bson.D{{Key: "operatorName", Value: "$jsonSchema"}}, annotations(schema)...)
	return append(out, bson.E{Key: "schemaRulesNotSatisfied", Value: brokenRules(schema, value.Object(m.doc))})
}

// annotations returns the title and the description of a schema.
func annotations(schema value.Value) bson.D {
	var out bson.D
	for _, name := range []string{"title", "description"} {
		if v := document.Lookup(schema.Value, name); !value.IsMissing(v) {
			out = append(out, bson.E{Key: name, Value: v})
		}
	}
	return out
}

// brokenRules explains each keyword of a schema that a value violates.
func brokenRules(schema, v value.Value) bson.A {
	broken := bson.A{}
	for _, name := range schemaOrder() {
		arg := document.Lookup(schema.Value, name)
		if value.IsMissing(arg) || satisfies(keywordOnly(schema, name), v) {
			continue
		}
		rule := bson.D{{Key: "operatorName", Value: name}}
		if explain, nested := nestedRules()[name]; nested {
			rule = append(rule, explain(schema, arg, v)...)
		} else {
			rule = append(rule, bson.E{Key: "specifiedAs", Value: keywordSpec(schema, name)})
			rule = append(rule, explainKeyword(name, v)...)
		}
		broken = append(broken, rule)
	}
	return broken
}

// explainKeyword explains a violation by a single value.
func explainKeyword(name string, v value.Value) bson.D {
	rule := bson.D{{Key: "reason", Value: schemaReasons[name]}}
	switch name {
	case "minProperties", "maxProperties":
		return bson.D{{Key: "reason", Value: "specified number of properties was not satisfied"},
			{Key: "numberOfProperties", Value: int32(document.Count(v.Value))}}
	case "uniqueItems":
		return bson.D{{Key: "reason", Value: "found a duplicate item"}, {Key: "consideredValue", Value: v},
			{Key: "duplicatedValue", Value: firstDuplicate(v)}}
	}
	rule = append(rule, bson.E{Key: "consideredValue", Value: v})
	if name == "minItems" || name == "maxItems" {
		rule = append(rule, bson.E{Key: "numberOfItems", Value: int32(document.Count(v.Value))})
	}
	if name == "bsonType" || name == "type" {
		rule = append(rule, bson.E{Key: "consideredType", Value: value.TypeName(v)})
	}
	return rule
}

func firstDuplicate(arr value.Value) value.Value {
	seen := map[string]bool{}
	for _, v := range document.Fields(arr.Value) {
		if seen[value.EncodedKey(v)] {
			return v
		}
		seen[value.EncodedKey(v)] = true
	}
	return value.Value{}
}

func satisfies(schema bson.Raw, v value.Value) bool {
	s, err := (&schemaCompiler{}).compile(value.Object(schema))
	return err != nil || s.isValid(nil, v)
}

// relatedKeywords are the keywords that modify another keyword.
var relatedKeywords = map[string][]string{
	"maximum": {"exclusiveMaximum"}, "minimum": {"exclusiveMinimum"},
	"additionalItems": {"items"}, "additionalProperties": {"properties", "patternProperties"},
}

// keywordSpec returns a keyword and its value as in the schema.
func keywordSpec(schema value.Value, name string) bson.Raw {
	fs := []document.Field{{Name: name, Value: document.Lookup(schema.Value, name)}}
	if name == "maximum" || name == "minimum" {
		fs = append(fs,
			document.Field{Name: relatedKeywords[name][0], Value: document.Lookup(schema.Value, relatedKeywords[name][0])})
	}
	return document.New(fs...)
}

// keywordOnly returns a schema with one keyword. It keeps related keywords, but with values that allow
// everything.
func keywordOnly(schema value.Value, name string) bson.Raw {
	fs := []document.Field{{Name: name, Value: document.Lookup(schema.Value, name)}}
	for _, partner := range relatedKeywords[name] {
		v := document.Lookup(schema.Value, partner)
		if value.IsMissing(v) || partner == "items" && !value.IsArray(v) {
			continue
		}
		if value.IsArray(v) || value.IsObject(v) {
			v = emptySchemas(v)
		}
		fs = append(fs, document.Field{Name: partner, Value: v})
	}
	return document.New(fs...)
}

// emptySchemas replaces schemas by empty ones and keeps their names or number.
func emptySchemas(schemas value.Value) value.Value {
	var fs []document.Field
	for n := range document.Fields(schemas.Value) {
		fs = append(fs, document.Field{Name: string(n), Value: value.Object(document.Empty)})
	}
	return value.Value{Type: schemas.Type, Value: document.New(fs...)}
}

// nestedRules returns the functions that explain the keywords with nested schemas or names.
func nestedRules() map[string]func(schema, arg, v value.Value) bson.D {
	return map[string]func(schema, arg, v value.Value) bson.D{
		"properties": brokenProperties, "patternProperties": brokenPatterns, "additionalProperties": brokenAdditional,
		"required": missingRequired, "dependencies": brokenDependencies,
		"items": brokenItems, "additionalItems": brokenAdditionalItems,
		"allOf": brokenCombination, "anyOf": brokenCombination, "oneOf": brokenOneOf,
		"not": func(_, _, _ value.Value) bson.D { return bson.D{{Key: "reason", Value: "child expression matched"}} },
	}
}

// withDetails appends the explanation of a value against a nested schema to named.
func withDetails(named bson.D, schema, v value.Value) bson.D {
	return append(append(named, annotations(schema)...), bson.E{Key: "details", Value: brokenRules(schema, v)})
}

func brokenProperties(_, arg, v value.Value) bson.D {
	list := bson.A{}
	for n, s := range document.Fields(arg.Value) {
		if f := document.Lookup(v.Value, string(n)); !value.IsMissing(f) && !satisfies(s.Value, f) {
			list = append(list, withDetails(bson.D{{Key: "propertyName", Value: string(n)}}, s, f))
		}
	}
	return bson.D{{Key: "propertiesNotSatisfied", Value: list}}
}

func brokenPatterns(_, arg, v value.Value) bson.D {
	list := bson.A{}
	for source, s := range document.Fields(arg.Value) {
		p, err := regex.Compile(string(source), "")
		if err != nil {
			continue
		}
		for n, f := range document.Fields(v.Value) {
			if p.MatchOrFalse(nil, string(n)) && !satisfies(s.Value, f) {
				list = append(list, withDetails(bson.D{{Key: "propertyName", Value: string(n)},
					{Key: "regexMatched", Value: string(source)}}, s, f))
			}
		}
	}
	return bson.D{{Key: "details", Value: list}}
}

func brokenAdditional(schema, arg, v value.Value) bson.D {
	var more []document.Field
	for n, f := range document.Fields(v.Value) {
		one := value.Object(document.New(document.Field{Name: string(n), Value: f}))
		listed := !value.IsMissing(document.Lookup(document.Lookup(schema.Value, "properties").Value, string(n)))
		if !listed && !satisfies(keywordOnly(schema, "additionalProperties"), one) {
			more = append(more, document.Field{Name: string(n), Value: f})
		}
	}
	if value.IsObject(arg) && len(more) > 0 {
		return withDetails(bson.D{{Key: "reason", Value: "at least one additional property did not match the subschema"},
			{Key: "failingProperty", Value: more[0].Name}}, arg, more[0].Value)
	}
	names := bson.A{}
	for _, f := range more {
		names = append(names, f.Name)
	}
	return bson.D{{Key: "specifiedAs", Value: document.New(document.Field{Name: "additionalProperties", Value: arg})},
		{Key: "additionalProperties", Value: names}}
}

func missingRequired(_, arg, v value.Value) bson.D {
	return bson.D{
		{Key: "specifiedAs", Value: document.New(document.Field{Name: "required", Value: arg})},
		{Key: "missingProperties", Value: missingNames(arg, v)},
	}
}

// missingNames returns the missing names, sorted as on the server.
func missingNames(names, v value.Value) bson.A {
	var missing []string
	for _, n := range document.Fields(names.Value) {
		if value.IsMissing(document.Lookup(v.Value, value.TextAt(n.Value))) {
			missing = append(missing, value.TextAt(n.Value))
		}
	}
	slices.Sort(missing)
	return document.ListOf(missing)
}

func brokenDependencies(_, arg, v value.Value) bson.D {
	list := bson.A{}
	for n, s := range document.Fields(arg.Value) {
		if value.IsMissing(document.Lookup(v.Value, string(n))) {
			continue
		}
		named := bson.D{{Key: "conditionalProperty", Value: string(n)}}
		if !value.IsArray(s) {
			if !satisfies(s.Value, v) {
				list = append(list, withDetails(named, s, v))
			}
		} else if missing := missingNames(s, v); len(missing) > 0 {
			list = append(list, append(named, bson.E{Key: "missingProperties", Value: missing}))
		}
	}
	return bson.D{{Key: "failingDependencies", Value: list}}
}

const itemReason = "At least one item did not match the sub-schema"

func brokenItems(_, arg, v value.Value) bson.D {
	all := document.Items(v)
	if !value.IsArray(arg) {
		at := slices.IndexFunc(all, func(e value.Value) bool { return !satisfies(arg.Value, e) })
		return withDetails(bson.D{{Key: "reason", Value: itemReason}, {Key: "itemIndex", Value: int32(at)}}, arg, all[at])
	}
	list := bson.A{}
	for i, s := range document.Items(arg) {
		if i < len(all) && !satisfies(s.Value, all[i]) {
			list = append(list, withDetails(bson.D{{Key: "itemIndex", Value: int32(i)}}, s, all[i]))
		}
	}
	return bson.D{{Key: "details", Value: list}}
}

func brokenAdditionalItems(schema, arg, v value.Value) bson.D {
	from := document.Count(document.Lookup(schema.Value, "items").Value)
	more := document.Items(v)[from:]
	if !value.IsObject(arg) {
		return bson.D{
			{Key: "specifiedAs", Value: document.New(document.Field{Name: "additionalItems", Value: arg})},
			{Key: "reason", Value: "found additional items"}, {Key: "additionalItems", Value: document.Array(more)},
		}
	}
	at := slices.IndexFunc(more, func(e value.Value) bool { return !satisfies(arg.Value, e) })
	return withDetails(bson.D{{Key: "reason", Value: "At least one additional item did not match the sub-schema"},
		{Key: "itemIndex", Value: int32(from + at)}}, arg, more[at])
}

func brokenCombination(_, arg, v value.Value) bson.D {
	list := bson.A{}
	for i, s := range document.Items(arg) {
		if !satisfies(s.Value, v) {
			list = append(list, withDetails(bson.D{{Key: "index", Value: int32(i)}}, s, v))
		}
	}
	return bson.D{{Key: "schemasNotSatisfied", Value: list}}
}

func brokenOneOf(schema, arg, v value.Value) bson.D {
	matching := bson.A{}
	for i, s := range document.Items(arg) {
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
