package filter

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/regex"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// The keywords of $jsonSchema with nested schemas or names.

// compileEach compiles the schemas in an array.
func (c *schemaCompiler) compileEach(list value.Value) (each []schema, err error) {
	for _, item := range document.Fields(list.Value) {
		s, err := c.compile(item)
		if err != nil {
			return nil, err
		}
		each = append(each, s)
	}
	return each, nil
}

func schemaItems(c *schemaCompiler, _ string, arg value.Value, _ []byte) (schemaCheck, error) {
	if value.IsArray(arg) {
		each, err := c.compileEach(arg)
		if err != nil {
			return nil, err
		}
		return func(w *quota.Meter, v value.Value) bool {
			if !value.IsArray(v) {
				return true
			}
			for i, e := range w.Items(v) {
				if i < len(each) && !each[i].isValid(w, e) {
					return false
				}
			}
			return true
		}, nil
	}
	s, err := c.compile(arg)
	return func(w *quota.Meter, v value.Value) bool {
		return !value.IsArray(v) || !slices.ContainsFunc(w.Items(v), func(e value.Value) bool { return !s.isValid(w, e) })
	}, err
}

func schemaAdditionalItems(c *schemaCompiler, _ string, arg value.Value, whole []byte) (schemaCheck, error) {
	s, err := c.compileBoolOrSchema(arg)
	listed := document.Lookup(whole, "items")
	if err != nil || !value.IsArray(listed) {
		return nil, err
	}
	from := document.Count(listed.Value)
	return func(w *quota.Meter, v value.Value) bool {
		if !value.IsArray(v) {
			return true
		}
		list := w.Items(v)
		return len(list) <= from || !slices.ContainsFunc(list[from:], func(e value.Value) bool { return !s.isValid(w, e) })
	}, nil
}

// compileBoolOrSchema compiles a schema or a boolean: true allows everything, false nothing.
func (c *schemaCompiler) compileBoolOrSchema(v value.Value) (schema, error) {
	if v.Type == bson.TypeBoolean {
		if value.IsTruthy(v) {
			return nil, nil
		}
		return schema{func(*quota.Meter, value.Value) bool { return false }}, nil
	}
	return c.compile(v)
}

func schemaRequired(_ *schemaCompiler, name string, arg value.Value, _ []byte) (schemaCheck, error) {
	return compileRequired("$jsonSchema keyword '"+name+"'", arg)
}

// compileRequired compiles an array of names of required fields. subject begins the messages of its errors.
func compileRequired(subject string, arg value.Value) (schemaCheck, error) {
	names, err := parseStringList(subject, arg)
	if distinct := slices.Compact(slices.Sorted(slices.Values(names))); err == nil && len(distinct) < len(names) {
		return nil, servererr.FailedToParse("%s array cannot contain duplicate values", subject)
	}
	return func(w *quota.Meter, v value.Value) bool {
		if !value.IsObject(v) {
			return true
		}
		at := paths.Finder{}
		return !slices.ContainsFunc(names, func(n string) bool {
			return w.Charge(1) != nil || value.IsMissing(at.Find(w, v.Value, n))
		})
	}, err
}

func parseStringList(subject string, arg value.Value) ([]string, error) {
	if !value.IsArray(arg) {
		return nil, servererr.TypeMismatch("%s must be an array, but found %s", subject, value.TypeName(arg))
	}
	var names []string
	for _, v := range document.Fields(arg.Value) {
		if !value.IsString(v) {
			return nil, servererr.TypeMismatch("%s must be an array of strings, but found an element of type: %s",
				subject, value.TypeName(v))
		}
		names = append(names, value.TextAt(v.Value))
	}
	if len(names) == 0 {
		return nil, servererr.FailedToParse("%s cannot be an empty array", subject)
	}
	return names, nil
}

func schemaProperties(c *schemaCompiler, name string, arg value.Value, _ []byte) (schemaCheck, error) {
	each, err := c.compileMap(name, arg)
	return func(w *quota.Meter, v value.Value) bool {
		if !value.IsObject(v) {
			return true
		}
		for n, f := range w.Fields(v.Value) {
			if s, ok := each[string(n)]; ok && !s.isValid(w, f) {
				return false
			}
		}
		return true
	}, err
}

// compileMap compiles an object of schemas.
func (c *schemaCompiler) compileMap(name string, arg value.Value) (map[string]schema, error) {
	if !value.IsObject(arg) {
		return nil, servererr.TypeMismatch("$jsonSchema keyword '%s' must be an object", name)
	}
	each := map[string]schema{}
	for n, v := range document.Fields(arg.Value) {
		s, err := c.compile(v)
		if err != nil {
			return nil, err
		}
		each[string(n)] = s
	}
	return each, nil
}

// schemaAdditionalProperties compiles patternProperties and additionalProperties, which apply to
// properties that are not listed.
func schemaAdditionalProperties(c *schemaCompiler, name string, arg value.Value, whole []byte) (schemaCheck, error) {
	var patterns []*regex.Pattern
	var schemas []schema
	for n, v := range document.Fields(document.Lookup(whole, "patternProperties").Value) {
		p, err := regex.Compile(string(n), "")
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
		if !value.IsObject(arg) {
			return nil, servererr.TypeMismatch("$jsonSchema keyword 'patternProperties' must be an object")
		}
		return everyProperty(func(w *quota.Meter, n string, v value.Value) bool {
			for i, p := range patterns {
				if p.MatchOrFalse(w, n) && !schemas[i].isValid(w, v) {
					return false
				}
			}
			return true
		}), nil
	}
	rest, err := c.compileBoolOrSchema(arg)
	listed := map[string]bool{}
	for n := range document.Fields(document.Lookup(whole, "properties").Value) {
		listed[string(n)] = true
	}
	return everyProperty(func(w *quota.Meter, n string, v value.Value) bool {
		if listed[n] || slices.ContainsFunc(patterns, func(p *regex.Pattern) bool { return p.MatchOrFalse(w, n) }) {
			return true
		}
		return rest.isValid(w, v)
	}), err
}

func everyProperty(ok func(w *quota.Meter, name string, v value.Value) bool) schemaCheck {
	return func(w *quota.Meter, v value.Value) bool {
		if !value.IsObject(v) {
			return true
		}
		for n, f := range w.Fields(v.Value) {
			if !ok(w, string(n), f) {
				return false
			}
		}
		return true
	}
}

func schemaDependencies(c *schemaCompiler, _ string, arg value.Value, _ []byte) (schemaCheck, error) {
	if !value.IsObject(arg) {
		return nil, servererr.TypeMismatch("$jsonSchema keyword 'dependencies' must be an object")
	}
	when := map[string]schemaCheck{}
	for n, v := range document.Fields(arg.Value) {
		subject := "property '" + string(n) + "' in $jsonSchema keyword 'dependencies'"
		switch name := string(n); {
		case value.IsArray(v):
			check, err := compileRequired(subject, v)
			if err != nil {
				return nil, err
			}
			when[name] = check
		case value.IsObject(v):
			s, err := c.compile(v)
			if err != nil {
				return nil, err
			}
			when[name] = s.isValid
		case value.IsString(v) && (name == "title" || name == "description"): // an annotation
		default:
			return nil, servererr.TypeMismatch("%s must be either an object or an array", subject)
		}
	}
	return func(w *quota.Meter, v value.Value) bool {
		if !value.IsObject(v) {
			return true
		}
		for n := range w.Fields(v.Value) {
			if check := when[string(n)]; check != nil && !check(w, v) {
				return false
			}
		}
		return true
	}, nil
}

func schemaCombination(c *schemaCompiler, name string, arg value.Value, _ []byte) (schemaCheck, error) {
	if !value.IsArray(arg) {
		return nil, servererr.TypeMismatch("$jsonSchema keyword '%s' must be an array", name)
	}
	each, err := c.compileEach(arg)
	if err != nil {
		return nil, err
	}
	if len(each) == 0 {
		return nil, servererr.BadValue("$jsonSchema keyword '%s' must be a non-empty array", name)
	}
	return func(w *quota.Meter, v value.Value) bool {
		n := 0
		for _, s := range each {
			if s.isValid(w, v) {
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

func schemaNot(c *schemaCompiler, _ string, arg value.Value, _ []byte) (schemaCheck, error) {
	s, err := c.compile(arg)
	return func(w *quota.Meter, v value.Value) bool { return !s.isValid(w, v) }, err
}

func schemaAnnotation(_ *schemaCompiler, name string, arg value.Value, _ []byte) (schemaCheck, error) {
	if !value.IsString(arg) {
		return nil, servererr.TypeMismatch("$jsonSchema keyword '%s' must be of type string", name)
	}
	return nil, nil
}
