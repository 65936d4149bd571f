package filter

import (
	"maps"
	"slices"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/regex"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// schema is one level of $jsonSchema: a conjunction of checks. A check passes for values of types that
// it does not concern.
type schema []schemaCheck

type schemaCheck func(w *quota.Meter, v value.Value) bool

func (s schema) isValid(w *quota.Meter, v value.Value) bool {
	for _, check := range s {
		if w.Charge(1) != nil || !check(w, v) {
			return false
		}
	}
	return true
}

// schemaNode applies $jsonSchema to the whole document.
type schemaNode schema

func (n schemaNode) Match(doc []byte, m *MatchState) bool {
	return schema(n).isValid(m.currentMeter(), value.Object(doc))
}

func (c *Compiler) compileSchema(v value.Value) (node, error) {
	if !value.IsObject(v) {
		return nil, servererr.TypeMismatch("$jsonSchema must be an object")
	}
	s, err := (&schemaCompiler{}).compile(v)
	return schemaNode(s), err
}

type schemaCompiler struct{ depth int }

// keywordCompiler compiles one keyword. whole is the schema, for keywords that depend on each other.
type keywordCompiler func(c *schemaCompiler, name string, arg value.Value, whole []byte) (schemaCheck, error)

func (c *schemaCompiler) keywords() map[string]keywordCompiler {
	return map[string]keywordCompiler{
		"type": schemaType, "bsonType": schemaType, "enum": schemaEnum,
		"minimum": schemaBound, "maximum": schemaBound, "exclusiveMinimum": schemaExclusive,
		"exclusiveMaximum": schemaExclusive,
		"multipleOf":       schemaMultiple, "minLength": schemaCount, "maxLength": schemaCount, "pattern": schemaPattern,
		"minItems": schemaCount, "maxItems": schemaCount, "uniqueItems": schemaUnique, "items": schemaItems,
		"additionalItems": schemaAdditionalItems,
		"minProperties":   schemaCount, "maxProperties": schemaCount, "required": schemaRequired,
		"properties": schemaProperties, "patternProperties": schemaAdditionalProperties,
		"additionalProperties": schemaAdditionalProperties,
		"dependencies":         schemaDependencies,
		"allOf":                schemaCombination, "anyOf": schemaCombination, "oneOf": schemaCombination, "not": schemaNot,
		"title": schemaAnnotation, "description": schemaAnnotation,
	}
}

func (c *schemaCompiler) compile(v value.Value) (schema, error) {
	if !value.IsObject(v) {
		return nil, servererr.TypeMismatch("$jsonSchema: a schema must be an object, but got %s", value.TypeName(v))
	}
	if c.depth++; c.depth > maxFilterDepth {
		return nil, servererr.FailedToParse("$jsonSchema nests too deeply")
	}
	defer func() { c.depth-- }()
	known := c.keywords()
	if err := checkKeywords(known, v.Value); err != nil {
		return nil, err
	}
	var s schema
	for n, arg := range document.Fields(v.Value) {
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

// checkKeywords checks the names of the keywords before they are compiled.
func checkKeywords(known map[string]keywordCompiler, doc []byte) error {
	seen := map[string]bool{}
	for n := range document.Fields(doc) {
		name := string(n)
		switch {
		case slices.Contains([]string{"$ref", "$schema", "default", "definitions", "format", "id"}, name):
			return servererr.FailedToParse("$jsonSchema keyword '%s' is not currently supported", name)
		case known[name] == nil:
			return servererr.FailedToParse("Unknown $jsonSchema keyword: %s", name)
		case seen[name]:
			return servererr.FailedToParse("Duplicate $jsonSchema keyword: %s", name)
		}
		seen[name] = true
	}
	if seen["type"] && seen["bsonType"] {
		return servererr.FailedToParse("Cannot specify both $jsonSchema keywords 'type' and 'bsonType'")
	}
	return nil
}

// jsonTypes are the type names of the keyword type. The keyword bsonType uses the server's names.
var jsonTypes = map[string]bson.Type{
	"object": bson.TypeEmbeddedDocument, "array": bson.TypeArray, "string": bson.TypeString,
	"boolean": bson.TypeBoolean, "null": bson.TypeNull,
}

func schemaType(_ *schemaCompiler, name string, arg value.Value, _ []byte) (schemaCheck, error) {
	list := []value.Value{arg}
	if value.IsArray(arg) {
		if list = document.Items(arg); len(list) == 0 {
			return nil, servererr.FailedToParse("$jsonSchema keyword '%s' must name at least one type", name)
		}
	}
	t := typeTest{types: map[bson.Type]bool{}}
	seen := map[string]bool{}
	for _, v := range list {
		if !value.IsString(v) {
			return nil, servererr.TypeMismatch("$jsonSchema keyword '%s' must be either a string or an array of strings", name)
		}
		alias := value.TextAt(v.Value)
		switch {
		case alias == "integer":
			return nil, servererr.FailedToParse("$jsonSchema type 'integer' is not currently supported")
		case seen[alias]:
			return nil, servererr.FailedToParse("$jsonSchema keyword '%s' has duplicate value: '%s'", name, alias)
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
			return nil, servererr.BadValue("Unknown type name alias: %s", alias)
		}
		t.types[typ] = true
	}
	return func(_ *quota.Meter, v value.Value) bool { return t.Test(v, nil) }, nil
}

func schemaEnum(_ *schemaCompiler, _ string, arg value.Value, _ []byte) (schemaCheck, error) {
	if !value.IsArray(arg) {
		return nil, servererr.TypeMismatch("$jsonSchema keyword 'enum' must be an array, but found %s", value.TypeName(arg))
	}
	list := document.Items(arg)
	if len(list) == 0 {
		return nil, servererr.FailedToParse("$jsonSchema keyword 'enum' cannot be an empty array")
	}
	known := expr.Set{}
	for _, e := range list {
		if !value.IsMissing(known[value.EncodedKey(e)]) {
			return nil, servererr.FailedToParse("$jsonSchema keyword 'enum' array cannot contain duplicate values")
		}
		known[value.EncodedKey(e)] = e
	}
	return func(_ *quota.Meter, v value.Value) bool { return !value.IsMissing(known[value.EncodedKey(v)]) }, nil
}

func schemaBound(_ *schemaCompiler, name string, arg value.Value, whole []byte) (schemaCheck, error) {
	if !value.IsNumber(arg) {
		return nil, servererr.TypeMismatch("$jsonSchema keyword '%s' must be a number", name)
	}
	exclusive := "exclusiveMinimum"
	sign := 1
	if name == "maximum" {
		exclusive, sign = "exclusiveMaximum", -1
	}
	strict := value.IsTruthy(document.Lookup(whole, exclusive))
	return func(_ *quota.Meter, v value.Value) bool {
		if !value.IsNumber(v) {
			return true
		}
		if value.IsNaN(v) || value.IsNaN(arg) {
			return value.IsNaN(v) && value.IsNaN(arg) && !strict
		}
		c := value.Compare(v, arg) * sign
		return c > 0 || c == 0 && !strict
	}, nil
}

func schemaExclusive(_ *schemaCompiler, name string, arg value.Value, whole []byte) (schemaCheck, error) {
	if arg.Type != bson.TypeBoolean {
		return nil, servererr.TypeMismatch("$jsonSchema keyword '%s' must be a boolean", name)
	}
	partner := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[name]
	if value.IsMissing(document.Lookup(whole, partner)) {
		return nil, servererr.FailedToParse("$jsonSchema keyword '%s' must be a present if %s is present", partner, name)
	}
	return nil, nil
}

func schemaMultiple(_ *schemaCompiler, _ string, arg value.Value, _ []byte) (schemaCheck, error) {
	if !value.IsNumber(arg) {
		return nil, servererr.TypeMismatch("$jsonSchema keyword 'multipleOf' must be a number, but found %s",
			value.TypeName(arg))
	}
	if value.Compare(arg, value.Int32(0)) <= 0 {
		return nil, servererr.FailedToParse("$jsonSchema keyword 'multipleOf' must have a positive value")
	}
	divisor := value.ToDecimal(arg)
	return func(_ *quota.Meter, v value.Value) bool {
		if !value.IsNumber(v) {
			return true
		}
		return value.DecimalIsZero(value.DecimalMod(value.ToDecimal(v), divisor))
	}, nil
}

// schemaCount compiles the keywords that limit a length or a number of elements.
func schemaCount(_ *schemaCompiler, name string, arg value.Value, _ []byte) (schemaCheck, error) {
	n, ok := value.WholeInteger(arg)
	if !value.IsNumber(arg) {
		return nil, servererr.TypeMismatch("$jsonSchema keyword '%s' must be a number", name)
	}
	if !ok || n < 0 {
		return nil, servererr.FailedToParse("$jsonSchema keyword '%s' must be a non-negative integer", name)
	}
	size := map[string]func(v value.Value) (int, bool){
		"Length": func(v value.Value) (int, bool) {
			return utf8.RuneCountInString(value.TextAt(v.Value)), value.IsString(v)
		},
		"Items":      func(v value.Value) (int, bool) { return document.Count(v.Value), value.IsArray(v) },
		"Properties": func(v value.Value) (int, bool) { return document.Count(v.Value), value.IsObject(v) },
	}[name[3:]]
	least := name[:3] == "min"
	return func(_ *quota.Meter, v value.Value) bool {
		if !value.IsString(v) && !value.IsArray(v) && !value.IsObject(v) {
			return true
		}
		have, concerned := size(v)
		return !concerned || least && int64(have) >= n || !least && int64(have) <= n
	}, nil
}

func schemaPattern(_ *schemaCompiler, name string, arg value.Value, _ []byte) (schemaCheck, error) {
	if !value.IsString(arg) {
		return nil, servererr.TypeMismatch("$jsonSchema keyword '%s' must be a string", name)
	}
	p, err := regex.Compile(value.TextAt(arg.Value), "")
	if err != nil {
		return nil, err
	}
	return func(w *quota.Meter, v value.Value) bool {
		return !value.IsString(v) || p.MatchOrFalse(w, value.TextAt(v.Value))
	}, nil
}

func schemaUnique(_ *schemaCompiler, _ string, arg value.Value, _ []byte) (schemaCheck, error) {
	if arg.Type != bson.TypeBoolean {
		return nil, servererr.TypeMismatch("$jsonSchema keyword 'uniqueItems' must be a boolean")
	}
	if !value.IsTruthy(arg) {
		return nil, nil
	}
	return func(w *quota.Meter, v value.Value) bool {
		return !value.IsArray(v) || len(expr.NewSet(w, v)) == document.Count(v.Value)
	}, nil
}

// SchemaKeywordNames returns the sorted keywords of $jsonSchema.
func SchemaKeywordNames() []string { return slices.Sorted(maps.Keys((&schemaCompiler{}).keywords())) }
