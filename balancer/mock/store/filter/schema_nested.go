package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The keywords of $jsonSchema that hold schemas or names of their own.

func schemaItems(c *schemaCompiler, _ string, arg value, _ []byte) (schemaCheck, error) {
	if isArray(arg) {
		var each []schema
		for _, item := range fields(arg.Value) {
			s, err := c.compile(item)
			if err != nil {
				return nil, err
			}
			each = append(each, s)
		}
		return func(w *work, v value) bool {
			if !isArray(v) {
				return true
			}
			for i, e := range w.items(v) {
				if i < len(each) && !each[i].valid(w, e) {
					return false
				}
			}
			return true
		}, nil
	}
	s, err := c.compile(arg)
	return func(w *work, v value) bool {
		return !isArray(v) || !slices.ContainsFunc(w.items(v), func(e value) bool { return !s.valid(w, e) })
	}, err
}

func schemaMoreItems(c *schemaCompiler, _ string, arg value, whole []byte) (schemaCheck, error) {
	s, err := c.boolOrSchema(arg)
	listed := lookup(whole, "items")
	if err != nil || !isArray(listed) {
		return nil, err
	}
	from := fieldCount(listed.Value)
	return func(w *work, v value) bool {
		if !isArray(v) {
			return true
		}
		list := w.items(v)
		return len(list) <= from || !slices.ContainsFunc(list[from:], func(e value) bool { return !s.valid(w, e) })
	}, nil
}

// boolOrSchema reads a schema or a boolean: true allows anything, false
// nothing.
func (c *schemaCompiler) boolOrSchema(v value) (schema, error) {
	if v.Type == bson.TypeBoolean {
		if truthy(v) {
			return nil, nil
		}
		return schema{func(*work, value) bool { return false }}, nil
	}
	return c.compile(v)
}

func schemaRequired(_ *schemaCompiler, _ string, arg value, _ []byte) (schemaCheck, error) {
	names, err := stringList("required", arg)
	if distinct := slices.Compact(slices.Sorted(slices.Values(names))); err == nil && len(distinct) < len(names) {
		return nil, failedToParse("$jsonSchema keyword 'required' array cannot contain duplicate values")
	}
	return func(w *work, v value) bool {
		if !isObject(v) {
			return true
		}
		at := finder{}
		return !slices.ContainsFunc(names, func(n string) bool {
			return w.step(1) != nil || isMissing(at.find(w, v.Value, n))
		})
	}, err
}

func stringList(name string, arg value) ([]string, error) {
	if !isArray(arg) {
		return nil, typeMismatch("$jsonSchema keyword '%s' must be an array, but found %s", name, typeName(arg))
	}
	var names []string
	for _, v := range fields(arg.Value) {
		if !isString(v) {
			return nil, typeMismatch("$jsonSchema keyword '%s' must be an array of strings, but found an element of type: %s",
				name, typeName(v))
		}
		names = append(names, textAt(v.Value))
	}
	if len(names) == 0 {
		return nil, failedToParse("$jsonSchema keyword '%s' cannot be an empty array", name)
	}
	return names, nil
}

func schemaProperties(c *schemaCompiler, name string, arg value, _ []byte) (schemaCheck, error) {
	each, err := c.schemas(name, arg)
	return func(w *work, v value) bool {
		if !isObject(v) {
			return true
		}
		for n, f := range w.fields(v.Value) {
			if s, ok := each[string(n)]; ok && !s.valid(w, f) {
				return false
			}
		}
		return true
	}, err
}

// schemas compiles an object of schemas.
func (c *schemaCompiler) schemas(name string, arg value) (map[string]schema, error) {
	if !isObject(arg) {
		return nil, typeMismatch("$jsonSchema keyword '%s' must be an object", name)
	}
	each := map[string]schema{}
	for n, v := range fields(arg.Value) {
		s, err := c.compile(v)
		if err != nil {
			return nil, err
		}
		each[string(n)] = s
	}
	return each, nil
}

// schemaMoreProperties is patternProperties and additionalProperties: what
// concerns the properties that are not listed.
func schemaMoreProperties(c *schemaCompiler, name string, arg value, whole []byte) (schemaCheck, error) {
	var patterns []*pattern
	var schemas []schema
	for n, v := range fields(lookup(whole, "patternProperties").Value) {
		p, err := compilePattern(string(n), "")
		if err != nil {
			return nil, err
		}
		s, err := c.compile(v)
		if err != nil {
			return nil, err
		}
		patterns, schemas = append(patterns, p), append(schemas, s)
	}
	if name == "patternProperties" {
		if !isObject(arg) {
			return nil, typeMismatch("$jsonSchema keyword 'patternProperties' must be an object")
		}
		return everyProperty(func(w *work, n string, v value) bool {
			for i, p := range patterns {
				if p.matches(w, n) && !schemas[i].valid(w, v) {
					return false
				}
			}
			return true
		}), nil
	}
	rest, err := c.boolOrSchema(arg)
	listed := map[string]bool{}
	for n := range fields(lookup(whole, "properties").Value) {
		listed[string(n)] = true
	}
	return everyProperty(func(w *work, n string, v value) bool {
		if listed[n] || slices.ContainsFunc(patterns, func(p *pattern) bool { return p.matches(w, n) }) {
			return true
		}
		return rest.valid(w, v)
	}), err
}

func everyProperty(ok func(w *work, name string, v value) bool) schemaCheck {
	return func(w *work, v value) bool {
		if !isObject(v) {
			return true
		}
		for n, f := range w.fields(v.Value) {
			if !ok(w, string(n), f) {
				return false
			}
		}
		return true
	}
}

func schemaDependencies(c *schemaCompiler, _ string, arg value, _ []byte) (schemaCheck, error) {
	if !isObject(arg) {
		return nil, typeMismatch("$jsonSchema keyword 'dependencies' must be an object")
	}
	when := map[string]schemaCheck{}
	for n, v := range fields(arg.Value) {
		if isArray(v) {
			check, err := schemaRequired(c, "dependencies", v, nil)
			if err != nil {
				return nil, err
			}
			when[string(n)] = check
			continue
		}
		s, err := c.compile(v)
		if err != nil {
			return nil, err
		}
		when[string(n)] = s.valid
	}
	return func(w *work, v value) bool {
		if !isObject(v) {
			return true
		}
		for n := range w.fields(v.Value) {
			if check := when[string(n)]; check != nil && !check(w, v) {
				return false
			}
		}
		return true
	}, nil
}

func schemaCombination(c *schemaCompiler, name string, arg value, _ []byte) (schemaCheck, error) {
	if !isArray(arg) {
		return nil, typeMismatch("$jsonSchema keyword '%s' must be an array", name)
	}
	var each []schema
	for _, item := range fields(arg.Value) {
		s, err := c.compile(item)
		if err != nil {
			return nil, err
		}
		each = append(each, s)
	}
	if len(each) == 0 {
		return nil, badValue("$jsonSchema keyword '%s' must be a non-empty array", name)
	}
	return func(w *work, v value) bool {
		n := 0
		for _, s := range each {
			if s.valid(w, v) {
				n++
			}
		}
		switch name {
		case "allOf":
			return n == len(each)
		case "anyOf":
			return n > 0
		}
		return n == 1
	}, nil
}

func schemaNot(c *schemaCompiler, _ string, arg value, _ []byte) (schemaCheck, error) {
	s, err := c.compile(arg)
	return func(w *work, v value) bool { return !s.valid(w, v) }, err
}

func schemaText(_ *schemaCompiler, name string, arg value, _ []byte) (schemaCheck, error) {
	if !isString(arg) {
		return nil, typeMismatch("$jsonSchema keyword '%s' must be of type string", name)
	}
	return nil, nil
}
