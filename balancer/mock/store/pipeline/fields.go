package pipeline

import (
	"slices"
	"strings"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/value"
)

// fieldChanges is what a stage does to the fields of documents, as far as its
// specification says.
type fieldChanges struct {
	paths  []string
	others bool // all but paths change
	// from has the fields that others have become, by their new names.
	from map[string]string
}

// changedBy says what a stage changes; false where a $match can't go before it.
func changedBy(name string, spec value.Value) (c fieldChanges, known bool) {
	switch name {
	case "$sort":
	case "$addFields", "$set":
		c.computed("", spec.Value, true)
	case "$project":
		c = changedByProjection(spec.Value)
	case "$unset":
		c.paths = texts(document.Items(spec))
		if value.IsString(spec) {
			c.paths = []string{value.TextAt(spec.Value)}
		}
	case "$unwind":
		path := spec
		if value.IsObject(spec) {
			path = document.Lookup(spec.Value, "path")
			c.paths = texts([]value.Value{document.Lookup(spec.Value, "includeArrayIndex")})
		}
		c.paths = append(c.paths, value.TextAt(path.Value)[1:])
	case "$lookup", "$graphLookup":
		c.paths = texts([]value.Value{document.Lookup(spec.Value, "as")})
	default:
		return c, false
	}
	return c, true
}

// texts returns the texts among some values.
func texts(list []value.Value) (names []string) {
	for _, v := range list {
		if value.IsString(v) {
			names = append(names, value.TextAt(v.Value))
		}
	}
	return names
}

// computed adds the fields that $addFields makes.
func (c *fieldChanges) computed(under string, spec []byte, top bool) {
	for name, v := range document.Fields(spec) {
		path := under + string(name)
		switch {
		case value.IsObject(v) && !document.IsEmpty(v.Value) && !document.IsExpression(v.Value):
			c.computed(path+".", v.Value, false)
		case top && isField(v) && !strings.Contains(path, "."):
			if c.from == nil {
				c.from = map[string]string{}
			}
			c.from[path] = value.TextAt(v.Value)[1:]
		default:
			c.paths = append(c.paths, path)
		}
	}
}

// isField reports whether an expression is a field at the top of the document.
func isField(v value.Value) bool {
	text := ""
	if value.IsString(v) {
		text = value.TextAt(v.Value)
	}
	return strings.HasPrefix(text, "$") && !strings.HasPrefix(text, "$$") && !strings.Contains(text, ".")
}

// changedByProjection: one that leaves fields out changes those, one that keeps fields
// all others.
func changedByProjection(spec []byte) fieldChanges {
	kept, dropped := fieldChanges{others: true}, fieldChanges{}
	id := true
	var read func(under string, spec []byte)
	read = func(under string, spec []byte) {
		for name, v := range document.Fields(spec) {
			path := under + string(name)
			isSwitch := value.IsNumber(v) || v.Type == value.Bool(true).Type
			switch {
			case value.IsObject(v) && !document.IsEmpty(v.Value) && !document.IsExpression(v.Value):
				read(path+".", v.Value)
			case path == "_id" && isSwitch:
				id = value.Truthy(v)
			case isSwitch && !value.Truthy(v):
				dropped.paths = append(dropped.paths, path)
			case isSwitch:
				kept.paths = append(kept.paths, path)
			case isField(v) && !strings.Contains(path, "."):
				if kept.from == nil {
					kept.from = map[string]string{}
				}
				kept.from[path] = value.TextAt(v.Value)[1:]
			default:
				kept.paths = append(kept.paths, "") // computed: nothing of the document
			}
		}
	}
	read("", spec)
	if len(dropped.paths) > 0 || len(kept.paths)+len(kept.from) == 0 && !id {
		if !id {
			dropped.paths = append(dropped.paths, "_id")
		}
		return dropped
	}
	if id {
		kept.paths = append(kept.paths, "_id")
	}
	return kept
}

// changes reports whether a path leads to something else after the stage.
func (c fieldChanges) changes(path string) bool {
	if c.others {
		return !slices.ContainsFunc(c.paths, func(kept string) bool { return inside(path, kept) })
	}
	return slices.ContainsFunc(c.paths, func(p string) bool { return inside(path, p) || inside(p, path) })
}

// inside reports whether a path is another one or leads through it.
func inside(path, through string) bool {
	rest, ok := strings.CutPrefix(path, through)
	return ok && through != "" && (rest == "" || rest[0] == '.')
}

// before returns a condition as it is asked before the stage; false where it has to be
// asked after it.
func (c fieldChanges) before(condition document.Field) (value.Value, bool) {
	name := condition.Name
	if !document.IsOperator(name) {
		head, rest, dotted := strings.Cut(name, ".")
		if old, renamed := c.from[head]; renamed {
			if dotted {
				old += "." + rest
			}
			return value.Object(document.Of(document.Field{Name: old, Value: condition.Value})), true
		}
	}
	paths, known := pathsOf(condition)
	for _, p := range paths {
		head, _, _ := strings.Cut(p, ".")
		if _, renamed := c.from[head]; renamed || c.changes(p) {
			known = false
		}
	}
	return value.Object(document.Of(condition)), known
}

// pathsOf returns the fields that a condition of a query looks at; false where that
// can't be said.
func pathsOf(condition document.Field) (paths []string, known bool) {
	switch condition.Name {
	case "$and", "$or", "$nor":
		for _, branch := range document.Fields(condition.Value.Value) {
			for name, v := range document.Fields(branch.Value) {
				more, known := pathsOf(document.Field{Name: string(name), Value: v})
				if !known {
					return nil, false
				}
				paths = append(paths, more...)
			}
		}
		return paths, true
	case "$expr":
		return pathsIn(condition.Value)
	case "$comment", "$alwaysTrue", "$alwaysFalse":
		return nil, true
	}
	return []string{condition.Name}, !document.IsOperator(condition.Name)
}

// pathsIn returns the fields that an expression looks at; false where it looks at
// whole documents.
func pathsIn(v value.Value) (paths []string, known bool) {
	switch {
	case value.IsString(v):
		text := value.TextAt(v.Value)
		name, rest, dotted := strings.Cut(text, ".")
		switch {
		case !strings.HasPrefix(text, "$"):
			return nil, true
		case name == "$$ROOT" || name == "$$CURRENT":
			return []string{rest}, dotted
		case strings.HasPrefix(text, "$$"):
			return nil, true
		}
		return []string{text[1:]}, true
	case !value.IsObject(v) && !value.IsArray(v):
		return nil, true
	}
	for name, inner := range document.Fields(v.Value) {
		switch op := string(name); {
		case value.IsArray(v):
		case op == "$literal" || op == "$const":
			continue
		case op == "$getField" || op == "$setField" || op == "$unsetField" || op == "$meta":
			return nil, false
		}
		more, known := pathsIn(inner)
		if !known {
			return nil, false
		}
		paths = append(paths, more...)
	}
	return paths, true
}
