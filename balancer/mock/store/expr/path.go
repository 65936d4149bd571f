package expr

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// Path is a field path "$a.b" or a variable path "$$name.a.b".
type Path struct {
	base Expression // nil for the document itself
	Path []string
}

// compilePath compiles a field path or a variable.
func compilePath(text string, sc *Scope) (Expression, error) {
	if !strings.HasPrefix(text, "$$") {
		if text == "$" {
			return nil, servererr.NewCode(16872, "'$' by itself is not a valid FieldPath")
		}
		path, err := paths.Parse(text[1:])
		if err != nil {
			return nil, err
		}
		if slot, ok := sc.slot("CURRENT"); ok {
			return Path{base: variable(slot), Path: path}, nil
		}
		return Path{Path: path}, nil
	}
	name, rest, dotted := strings.Cut(text[2:], ".")
	base, err := compileVariable(name, sc)
	if err != nil || !dotted {
		return base, err
	}
	path, err := paths.Parse(rest)
	if err != nil {
		return nil, err
	}
	return Path{base, path}, nil
}

// CheckVariable rejects invalid names of user variables. A name begins with a lower case letter and
// continues with letters, digits and '_'. Characters beyond ASCII are valid anywhere.
func CheckVariable(name string) error {
	if name != "" && (name[0] < 'a' || name[0] > 'z') && name[0] < 0x80 && name != "CURRENT" {
		return servererr.FailedToParse("'%s' starts with an invalid character for a user variable name", name)
	}
	return checkVariableCharacters(name)
}

// checkVariableCharacters rejects names that no variable has.
func checkVariableCharacters(name string) error {
	if name == "" {
		return servererr.FailedToParse("empty variable names are not allowed")
	}
	for _, c := range []byte(name) {
		if c < 0x80 && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return servererr.FailedToParse("'%s' contains an invalid character for a variable name: '%c'", name, c)
		}
	}
	return nil
}

// nowName is the name of the variable $$NOW. A router may send a value for it.
const nowName = "NOW"

func compileVariable(name string, sc *Scope) (Expression, error) {
	if slot, ok := sc.slot(name); ok {
		return variable(slot), nil
	}
	switch name {
	case "ROOT", "CURRENT":
		return Root{}, nil
	case "REMOVE":
		return Literal{}, nil
	case nowName:
		return nowVariable{}, nil
	case "CLUSTER_TIME":
		return clusterTimeVariable{}, nil
	case "KEEP", "PRUNE", "DESCEND":
		return Literal(value.String(strings.ToLower(name))), nil
	case "USER_ROLES":
		return Literal(document.Array(nil)), nil
	}
	if err := checkVariableCharacters(name); err != nil {
		return nil, err
	}
	return nil, servererr.NewCode(17276, "Use of undefined variable: %s", name)
}

// Root is the expression $$ROOT.
type Root struct{}

// Eval returns the document.
func (Root) Eval(c *Evaluation) (value.Value, error) { return c.Root, nil }

type nowVariable struct{}

func (nowVariable) Eval(c *Evaluation) (value.Value, error) {
	return value.Date(c.now().UnixMilli()), nil
}

// now returns the time of the command.
func (c *Evaluation) now() time.Time {
	if c.Now.IsZero() {
		return time.Now()
	}
	return c.Now
}

type clusterTimeVariable struct{}

func (clusterTimeVariable) Eval(c *Evaluation) (value.Value, error) {
	return value.Timestamp(uint32(c.now().Unix()), 1), nil
}

type variable int

func (v variable) Eval(c *Evaluation) (value.Value, error) {
	if int(v) >= len(c.Vars) {
		return value.Value{}, nil
	}
	return c.Vars[v], nil
}

// Eval follows the path and applies it to each element of an array.
func (p Path) Eval(c *Evaluation) (value.Value, error) {
	base := c.Root
	if p.base != nil {
		var err error
		if base, err = p.base.Eval(c); err != nil {
			return value.Value{}, err
		}
	}
	return c.descend(base, p.Path), nil
}

// descend follows a path. For an array it returns the array of the results of its elements, without
// missing results.
func (c *Evaluation) descend(v value.Value, path []string) value.Value {
	for i, part := range path {
		switch v.Type {
		case bson.TypeEmbeddedDocument:
			v = c.finder.Find(c.Meter, v.Value, part)
		case bson.TypeArray:
			var out []value.Value
			for _, e := range c.Meter.Fields(v.Value) {
				if !value.IsObject(e) {
					continue // a path does not descend into nested arrays
				}
				if found := c.descend(e, path[i:]); !value.IsMissing(found) {
					out = append(out, found)
				}
			}
			return document.Array(out)
		default:
			return value.Value{}
		}
	}
	return v
}
