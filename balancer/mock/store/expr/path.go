package store

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// pathExpression is "$a.b" or "$$name.a.b".
type pathExpression struct {
	base expression // nil for the document itself
	path []string
}

// compilePath compiles a field path or a variable.
func compilePath(text string, sc *scope) (expression, error) {
	if !strings.HasPrefix(text, "$$") {
		if text == "$" {
			return nil, fail(16872, "'$' by itself is not a valid FieldPath")
		}
		path, err := fieldPath(text[1:])
		if err != nil {
			return nil, err
		}
		if slot, ok := sc.slot("CURRENT"); ok {
			return pathExpression{base: variable(slot), path: path}, nil
		}
		return pathExpression{path: path}, nil
	}
	name, rest, dotted := strings.Cut(text[2:], ".")
	base, err := compileVariable(name, sc)
	if err != nil || !dotted {
		return base, err
	}
	path, err := fieldPath(rest)
	if err != nil {
		return nil, err
	}
	return pathExpression{base, path}, nil
}

// checkVariable refuses names of user variables: they begin with a lower case
// letter and go on with letters, digits and '_' (or lie beyond ASCII).
func checkVariable(name string) error {
	if name == "" {
		return failedToParse("empty variable names are not allowed")
	}
	if c := name[0]; (c < 'a' || c > 'z') && c < 0x80 && name != "CURRENT" {
		return failedToParse("'%s' starts with an invalid character for a user variable name", name)
	}
	for _, c := range []byte(name) {
		if c < 0x80 && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return failedToParse("'%s' contains an invalid character for a variable name: '%c'", name, c)
		}
	}
	return nil
}

func compileVariable(name string, sc *scope) (expression, error) {
	if slot, ok := sc.slot(name); ok {
		return variable(slot), nil
	}
	switch name {
	case "ROOT", "CURRENT":
		return rootVariable{}, nil
	case "REMOVE":
		return literal{}, nil
	case "NOW":
		return nowVariable{}, nil
	case "CLUSTER_TIME":
		return clusterTimeVariable{}, nil
	case "KEEP", "PRUNE", "DESCEND":
		return literal(stringValue(strings.ToLower(name))), nil
	case "USER_ROLES":
		return literal(arrayOf(nil)), nil
	}
	if name == "" {
		return nil, failedToParse("empty variable names are not allowed")
	}
	for _, c := range []byte(name) {
		if c < 0x80 && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return nil, failedToParse("'%s' contains an invalid character for a variable name: '%c'", name, c)
		}
	}
	return nil, fail(17276, "Use of undefined variable: %s", name)
}

type rootVariable struct{}

func (rootVariable) eval(c *evaluation) (value, error) { return c.root, nil }

type nowVariable struct{}

func (nowVariable) eval(c *evaluation) (value, error) {
	if c.now.IsZero() {
		return dateValue(time.Now().UnixMilli()), nil
	}
	return dateValue(c.now.UnixMilli()), nil
}

type clusterTimeVariable struct{}

func (clusterTimeVariable) eval(c *evaluation) (value, error) {
	now := c.now
	if now.IsZero() {
		now = time.Now()
	}
	return timestampValue(uint32(now.Unix()), 1), nil
}

type variable int

func (v variable) eval(c *evaluation) (value, error) {
	if int(v) >= len(c.vars) {
		return value{}, nil
	}
	return c.vars[v], nil
}

func (p pathExpression) eval(c *evaluation) (value, error) {
	base := c.root
	if p.base != nil {
		var err error
		if base, err = p.base.eval(c); err != nil {
			return value{}, err
		}
	}
	return c.descend(base, p.path), nil
}

// descend follows an expression path: an array on the way gives the array of
// what its elements give, leaving out those that give nothing.
func (c *evaluation) descend(v value, path []string) value {
	for i, part := range path {
		switch v.Type {
		case bson.TypeEmbeddedDocument:
			v = c.at.find(c.work, v.Value, part)
		case bson.TypeArray:
			var out []value
			for _, e := range c.work.fields(v.Value) {
				if !isObject(e) {
					continue // arrays directly in arrays are not looked into
				}
				if found := c.descend(e, path[i:]); !isMissing(found) {
					out = append(out, found)
				}
			}
			return arrayOf(out)
		default:
			return value{}
		}
	}
	return v
}
