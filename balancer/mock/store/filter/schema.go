package store

import (
	"maps"
	"slices"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// schema is one level of $jsonSchema: a conjunction of checks, each of which
// passes for values it does not concern.
type schema []schemaCheck

type schemaCheck func(w *work, v value) bool

func (s schema) valid(w *work, v value) bool {
	for _, check := range s {
		if w.step(1) != nil || !check(w, v) {
			return false
		}
	}
	return true
}

// schemaNode is $jsonSchema on the whole document.
type schemaNode schema

func (n schemaNode) match(doc []byte, m *matching) bool {
	return schema(n).valid(m.work(), objectValue(doc))
}

func (c *filterCompiler) schema(v value) (node, error) {
	if !isObject(v) {
		return nil, typeMismatch("$jsonSchema must be an object")
	}
	s, err := (&schemaCompiler{}).compile(v)
	return schemaNode(s), err
}

type schemaCompiler struct{ depth int }

// keyword compiles one keyword; the whole schema is there for those that go in
// pairs.
type keyword func(c *schemaCompiler, name string, arg value, whole []byte) (schemaCheck, error)

func (c *schemaCompiler) keywords() map[string]keyword {
	return map[string]keyword{
		"type": schemaType, "bsonType": schemaType, "enum": schemaEnum,
		"minimum": schemaBound, "maximum": schemaBound, "exclusiveMinimum": schemaExclusive,
		"exclusiveMaximum": schemaExclusive,
		"multipleOf":       schemaMultiple, "minLength": schemaCount, "maxLength": schemaCount, "pattern": schemaPattern,
		"minItems": schemaCount, "maxItems": schemaCount, "uniqueItems": schemaUnique, "items": schemaItems,
		"additionalItems": schemaMoreItems,
		"minProperties":   schemaCount, "maxProperties": schemaCount, "required": schemaRequired,
		"properties": schemaProperties, "patternProperties": schemaMoreProperties,
		"additionalProperties": schemaMoreProperties,
		"dependencies":         schemaDependencies,
		"allOf":                schemaCombination, "anyOf": schemaCombination, "oneOf": schemaCombination, "not": schemaNot,
		"title": schemaText, "description": schemaText,
	}
}

func (c *schemaCompiler) compile(v value) (schema, error) {
	if !isObject(v) {
		return nil, typeMismatch("$jsonSchema: a schema must be an object, but got %s", typeName(v))
	}
	if c.depth++; c.depth > maxFilterDepth {
		return nil, failedToParse("$jsonSchema nests too deeply")
	}
	defer func() { c.depth-- }()
	known := c.keywords()
	if err := checkKeywords(known, v.Value); err != nil {
		return nil, err
	}
	var s schema
	for n, arg := range fields(v.Value) {
		name := string(n)
		check, err := known[name](c, name, arg, v.Value)
		if err != nil {
			return nil, err
		}
		if check != nil {
			s = append(s, check)
		}
	}
	return s, nil
}

// checkKeywords looks at the names before anything is made of them.
func checkKeywords(known map[string]keyword, doc []byte) error {
	seen := map[string]bool{}
	for n := range fields(doc) {
		name := string(n)
		switch {
		case slices.Contains([]string{"$ref", "$schema", "default", "definitions", "format", "id"}, name):
			return failedToParse("$jsonSchema keyword '%s' is not currently supported", name)
		case known[name] == nil:
			return failedToParse("Unknown $jsonSchema keyword: %s", name)
		case seen[name]:
			return failedToParse("Duplicate $jsonSchema keyword: %s", name)
		}
		seen[name] = true
	}
	if seen["type"] && seen["bsonType"] {
		return failedToParse("Cannot specify both $jsonSchema keywords 'type' and 'bsonType'")
	}
	return nil
}

// jsonTypes are the names of the keyword type; bsonType has the server's.
var jsonTypes = map[string]bson.Type{
	"object": bson.TypeEmbeddedDocument, "array": bson.TypeArray, "string": bson.TypeString,
	"boolean": bson.TypeBoolean, "null": bson.TypeNull,
}

func schemaType(_ *schemaCompiler, name string, arg value, _ []byte) (schemaCheck, error) {
	list := []value{arg}
	if isArray(arg) {
		if list = items(arg); len(list) == 0 {
			return nil, failedToParse("$jsonSchema keyword '%s' must name at least one type", name)
		}
	}
	t := typeTest{types: map[bson.Type]bool{}}
	seen := map[string]bool{}
	for _, v := range list {
		if !isString(v) {
			return nil, typeMismatch("$jsonSchema keyword '%s' must be either a string or an array of strings", name)
		}
		alias := textAt(v.Value)
		switch {
		case alias == "integer":
			return nil, failedToParse("$jsonSchema type 'integer' is not currently supported")
		case seen[alias]:
			return nil, failedToParse("$jsonSchema keyword '%s' has duplicate value: '%s'", name, alias)
		}
		seen[alias] = true
		if name == "bsonType" || alias == "number" {
			if err := t.add(v); err != nil {
				return nil, err
			}
			continue
		}
		typ, ok := jsonTypes[alias]
		if !ok {
			return nil, badValue("Unknown type name alias: %s", alias)
		}
		t.types[typ] = true
	}
	return func(_ *work, v value) bool { return t.test(v, nil) }, nil
}

func schemaEnum(_ *schemaCompiler, _ string, arg value, _ []byte) (schemaCheck, error) {
	if !isArray(arg) {
		return nil, typeMismatch("$jsonSchema keyword 'enum' must be an array, but found %s", typeName(arg))
	}
	list := items(arg)
	if len(list) == 0 {
		return nil, failedToParse("$jsonSchema keyword 'enum' cannot be an empty array")
	}
	known := set{}
	for _, e := range list {
		if !isMissing(known[encoded(e)]) {
			return nil, failedToParse("$jsonSchema keyword 'enum' array cannot contain duplicate values")
		}
		known[encoded(e)] = e
	}
	return func(_ *work, v value) bool { return !isMissing(known[encoded(v)]) }, nil
}

func schemaBound(_ *schemaCompiler, name string, arg value, whole []byte) (schemaCheck, error) {
	if !isNumber(arg) {
		return nil, typeMismatch("$jsonSchema keyword '%s' must be a number", name)
	}
	exclusive := "exclusiveMinimum"
	sign := 1
	if name == "maximum" {
		exclusive, sign = "exclusiveMaximum", -1
	}
	strict := truthy(lookup(whole, exclusive))
	return func(_ *work, v value) bool {
		if !isNumber(v) {
			return true
		}
		if isNaN(v) || isNaN(arg) {
			return isNaN(v) && isNaN(arg) && !strict
		}
		c := compare(v, arg) * sign
		return c > 0 || c == 0 && !strict
	}, nil
}

func schemaExclusive(_ *schemaCompiler, name string, arg value, whole []byte) (schemaCheck, error) {
	if arg.Type != bson.TypeBoolean {
		return nil, typeMismatch("$jsonSchema keyword '%s' must be a boolean", name)
	}
	partner := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[name]
	if isMissing(lookup(whole, partner)) {
		return nil, failedToParse("$jsonSchema keyword '%s' must be a present if %s is present", partner, name)
	}
	return nil, nil
}

func schemaMultiple(_ *schemaCompiler, _ string, arg value, _ []byte) (schemaCheck, error) {
	if !isNumber(arg) {
		return nil, typeMismatch("$jsonSchema keyword 'multipleOf' must be a number, but found %s", typeName(arg))
	}
	if compare(arg, int32Value(0)) <= 0 {
		return nil, failedToParse("$jsonSchema keyword 'multipleOf' must have a positive value")
	}
	divisor := toDecimal(arg)
	return func(_ *work, v value) bool {
		if !isNumber(v) {
			return true
		}
		return decimalIsZero(decimalMod(toDecimal(v), divisor))
	}, nil
}

// schemaCount returns the keywords that bound a length, by what they measure.
func schemaCount(_ *schemaCompiler, name string, arg value, _ []byte) (schemaCheck, error) {
	n, ok := wholeInteger(arg)
	if !isNumber(arg) {
		return nil, typeMismatch("$jsonSchema keyword '%s' must be a number", name)
	}
	if !ok || n < 0 {
		return nil, failedToParse("$jsonSchema keyword '%s' must be a non-negative integer", name)
	}
	size := map[string]func(v value) (int, bool){
		"Length":     func(v value) (int, bool) { return utf8.RuneCountInString(textAt(v.Value)), isString(v) },
		"Items":      func(v value) (int, bool) { return fieldCount(v.Value), isArray(v) },
		"Properties": func(v value) (int, bool) { return fieldCount(v.Value), isObject(v) },
	}[name[3:]]
	least := name[:3] == "min"
	return func(_ *work, v value) bool {
		if !isString(v) && !isArray(v) && !isObject(v) {
			return true
		}
		have, concerned := size(v)
		return !concerned || least && int64(have) >= n || !least && int64(have) <= n
	}, nil
}

func schemaPattern(_ *schemaCompiler, name string, arg value, _ []byte) (schemaCheck, error) {
	if !isString(arg) {
		return nil, typeMismatch("$jsonSchema keyword '%s' must be a string", name)
	}
	p, err := compilePattern(textAt(arg.Value), "")
	if err != nil {
		return nil, err
	}
	return func(w *work, v value) bool { return !isString(v) || p.matches(w, textAt(v.Value)) }, nil
}

func schemaUnique(_ *schemaCompiler, _ string, arg value, _ []byte) (schemaCheck, error) {
	if arg.Type != bson.TypeBoolean {
		return nil, typeMismatch("$jsonSchema keyword 'uniqueItems' must be a boolean")
	}
	if !truthy(arg) {
		return nil, nil
	}
	return func(w *work, v value) bool { return !isArray(v) || len(setFrom(w, v)) == fieldCount(v.Value) }, nil
}

// schemaKeywords lists the keywords of $jsonSchema, in order.
func schemaKeywords() []string { return slices.Sorted(maps.Keys((&schemaCompiler{}).keywords())) }
