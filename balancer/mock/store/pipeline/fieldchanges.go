package pipeline

import (
	"slices"
	"strings"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/value"
)

// fieldChanges are the fields that a stage changes, as determined from its specification.
type fieldChanges struct {
	paths        []string
	othersChange bool // all fields except paths change
	// oldNames maps new names of renamed fields to their old names.
	oldNames map[string]string
}

// stageFieldChanges returns the fields that a stage changes. known is false if a $match cannot move
// before the stage.
func stageFieldChanges(name string, spec value.Value) (c fieldChanges, known bool) {
	switch name {
	case "$sort":
	case "$addFields", "$set":
		c.addComputed("", spec.Value, true)
	case "$project":
		c = projectionChanges(spec.Value)
	case "$unset":
		c.paths = stringsIn(document.Items(spec))
		if value.IsString(spec) {
			c.paths = []string{value.TextAt(spec.Value)}
		}
	case "$unwind":
		path := spec
		if value.IsObject(spec) {
			path = document.Lookup(spec.Value, "path")
			c.paths = stringsIn([]value.Value{document.Lookup(spec.Value, "includeArrayIndex")})
		}
		c.paths = append(c.paths, value.TextAt(path.Value)[1:])
	case "$lookup", "$graphLookup":
		c.paths = stringsIn([]value.Value{document.Lookup(spec.Value, "as")})
	default:
		return c, false
	}
	return c, true
}

// stringsIn returns the strings in a list of values.
func stringsIn(list []value.Value) (names []string) {
	for _, v := range list {
		if value.IsString(v) {
			names = append(names, value.TextAt(v.Value))
		}
	}
	return names
}

// addComputed adds the fields that $addFields sets.
func (c *fieldChanges) addComputed(under string, spec []byte, top bool) {
	for name, v := range document.Fields(spec) {
		path := under + string(name)
		switch {
		case value.IsObject(v) && !document.IsEmpty(v.Value) && !document.IsExpression(v.Value):
			c.addComputed(path+".", v.Value, false)
		case top && isTopField(v) && !strings.Contains(path, "."):
			if c.oldNames == nil {
				c.oldNames = map[string]string{}
			}
			c.oldNames[path] = value.TextAt(v.Value)[1:]
		default:
			c.paths = append(c.paths, path)
		}
	}
}

// isTopField reports whether an expression is a top-level field.
func isTopField(v value.Value) bool {
	text := ""
	if value.IsString(v) {
		text = value.TextAt(v.Value)
	}
	return strings.HasPrefix(text, "$") && !strings.HasPrefix(text, "$$") && !strings.Contains(text, ".")
}

// projectionChanges returns the changes of a projection: an exclusion changes the listed fields, an
// inclusion all other fields.
func projectionChanges(spec []byte) fieldChanges {
	kept, dropped := fieldChanges{othersChange: true}, fieldChanges{}
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
				id = value.IsTruthy(v)
			case isSwitch && !value.IsTruthy(v):
				dropped.paths = append(dropped.paths, path)
			case isSwitch:
				kept.paths = append(kept.paths, path)
			case isTopField(v) && !strings.Contains(path, "."):
				if kept.oldNames == nil {
					kept.oldNames = map[string]string{}
				}
				kept.oldNames[path] = value.TextAt(v.Value)[1:]
			default:
				kept.paths = append(kept.paths, "") // computed: depends on no field of the document
			}
		}
	}
	read("", spec)
	if len(dropped.paths) > 0 || len(kept.paths)+len(kept.oldNames) == 0 && !id {
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

// changesPath reports whether the stage changes the value at a path.
func (c fieldChanges) changesPath(path string) bool {
	if c.othersChange {
		return !slices.ContainsFunc(c.paths, func(kept string) bool { return isAtOrBelow(path, kept) })
	}
	return slices.ContainsFunc(c.paths, func(p string) bool { return isAtOrBelow(path, p) || isAtOrBelow(p, path) })
}

// isAtOrBelow reports whether path equals through or lies below it.
func isAtOrBelow(path, through string) bool {
	rest, ok := strings.CutPrefix(path, through)
	return ok && through != "" && (rest == "" || rest[0] == '.')
}

// rewriteBefore rewrites a condition so that it can be tested before the stage. It returns false if the
// condition must be tested after the stage.
func (c fieldChanges) rewriteBefore(condition document.Field) (value.Value, bool) {
	name := condition.Name
	if !document.IsOperator(name) {
		head, rest, dotted := strings.Cut(name, ".")
		if old, renamed := c.oldNames[head]; renamed {
			if dotted {
				old += "." + rest
			}
			return value.Object(document.New(document.Field{Name: old, Value: condition.Value})), true
		}
	}
	paths, known := conditionPaths(condition)
	for _, p := range paths {
		head, _, _ := strings.Cut(p, ".")
		if _, renamed := c.oldNames[head]; renamed || c.changesPath(p) {
			known = false
		}
	}
	return value.Object(document.New(condition)), known
}

// conditionPaths returns the fields that a condition of a query reads. known is false if they cannot be
// determined.
func conditionPaths(condition document.Field) (paths []string, known bool) {
	switch condition.Name {
	case "$and", "$or", "$nor":
		for _, branch := range document.Fields(condition.Value.Value) {
			for name, v := range document.Fields(branch.Value) {
				more, known := conditionPaths(document.Field{Name: string(name), Value: v})
				if !known {
					return nil, false
				}
				paths = append(paths, more...)
			}
		}
		return paths, true
	case "$expr":
		return expressionPaths(condition.Value)
	case "$comment", "$alwaysTrue", "$alwaysFalse":
		return nil, true
	}
	return []string{condition.Name}, !document.IsOperator(condition.Name)
}

// expressionPaths returns the fields that an expression reads. known is false if it reads whole
// documents.
func expressionPaths(v value.Value) (paths []string, known bool) {
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
		more, known := expressionPaths(inner)
		if !known {
			return nil, false
		}
		paths = append(paths, more...)
	}
	return paths, true
}
