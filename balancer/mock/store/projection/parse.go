package store

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// projectionParser builds the field tree and finds out whether the projection
// includes or excludes.
type projectionParser struct {
	scope *scope
	find  bool // $slice, $elemMatch and the positional operator have their find meaning
	add   bool // $addFields: every value is an expression

	root                        *fieldNode
	includes, excludes, matched bool
	id                          *bool // what _id alone says
	positional                  []string
	depth                       int
}

// mode is decided by the first field other than _id that says; $slice alone
// keeps all, $elemMatch alone drops the rest.
func (p *projectionParser) mode() projectionMode {
	switch {
	case p.add:
		return adding
	case p.includes:
		return including
	case p.excludes:
		return excluding
	case p.matched:
		return including
	case p.id != nil && *p.id:
		return including
	}
	return excluding
}

func (p *projectionParser) parse(spec []byte) error {
	p.root = &fieldNode{}
	if err := p.fields(spec, nil); err != nil {
		return err
	}
	// An inclusion keeps the _id unless told otherwise.
	if p.mode() == including && p.root.kids["_id"] == nil {
		return p.insert([]string{"_id"}, &fieldNode{kind: keptLeaf})
	}
	return nil
}

func (p *projectionParser) fields(spec []byte, prefix []string) error {
	if p.depth++; p.depth > maxExpressionDepth {
		return serverError(mongoerr.Overflow, "projection exceeds depth limit of %d", maxExpressionDepth)
	}
	defer func() { p.depth-- }()
	for name, v := range fields(spec) {
		if err := p.field(string(name), v, prefix); err != nil {
			return err
		}
	}
	return nil
}

func (p *projectionParser) field(name string, v value, prefix []string) error {
	if name == "" {
		return fail(40352, "FieldPath cannot be constructed with empty string")
	}
	if p.find && strings.HasSuffix(name, ".$") && len(prefix) == 0 {
		return p.positionalField(strings.TrimSuffix(name, ".$"), v)
	}
	parts, err := fieldPath(name)
	if err != nil {
		return err
	}
	path := append(append([]string(nil), prefix...), parts...)
	if !isObject(v) {
		return p.simple(path, v)
	}
	op, arg, ok := first(v.Value)
	switch {
	case !ok && p.add:
		return p.computed(path, v)
	case !ok:
		return fail(51270, "An empty sub-projection is not a valid value. Found empty object at path")
	case !isOperator(op):
		return p.fields(v.Value, path)
	case p.find && op == "$slice" && findSlice(arg):
		return p.slice(path, arg)
	case p.find && op == "$elemMatch":
		return p.elemMatch(path, arg)
	case op == "$meta" && !slices.Contains(metaNames, textAt(arg.Value)):
		return fail(17308, "Unsupported argument to $meta: %s", textAt(arg.Value))
	case op == "$meta":
		return fail(40218, "query requires %s metadata, but it is not available", textAt(arg.Value))
	case !p.add && !knownExpression(op):
		return fail(31325, "Unknown expression %s", op)
	}
	return p.computed(path, v)
}

// metaNames are what $meta can ask for on a server.
var metaNames = []string{
	"textScore", "recordId", "indexKey", "sortKey", "searchScore", "searchHighlights", "searchScoreDetails",
	"searchSequenceToken",
	"geoNearDistance", "geoNearPoint", "randVal", "vectorSearchScore", "timeseriesBucketMinTime",
	"timeseriesBucketMaxTime",
}

// simple is a number or bool, which includes or excludes, or a literal or
// path.
func (p *projectionParser) simple(path []string, v value) error {
	if p.add || !isNumber(v) && v.Type != bson.TypeBoolean {
		return p.computed(path, v)
	}
	keep := truthy(v)
	kind := droppedLeaf
	if keep {
		kind = keptLeaf
	}
	if len(path) == 1 && path[0] == "_id" {
		p.id = &keep
		return p.insert(path, &fieldNode{kind: kind})
	}
	switch {
	case keep && p.excludes:
		return fail(31253, "Cannot do inclusion on field %s in exclusion projection", join(path))
	case !keep && p.includes:
		return fail(31254, "Cannot do exclusion on field %s in inclusion projection", join(path))
	}
	p.includes, p.excludes = p.includes || keep, p.excludes || !keep
	return p.insert(path, &fieldNode{kind: kind})
}

func (p *projectionParser) computed(path []string, v value) error {
	if p.excludes {
		if isObject(v) {
			return fail(31252, "Cannot use expression other than $meta in exclusion projection")
		}
		return fail(31310, "Cannot use an expression %s in an exclusion projection", v)
	}
	p.includes = true
	e, err := compileExpression(v, p.scope)
	if err != nil {
		return err
	}
	return p.insert(path, &fieldNode{kind: computedLeaf, expr: e, computes: true})
}

// findSlice reports whether a $slice is find's, and not the expression.
func findSlice(arg value) bool {
	if !isArray(arg) {
		return isNumber(arg)
	}
	list := items(arg)
	return len(list) == 2 && isNumber(list[0]) && isNumber(list[1])
}

func (p *projectionParser) slice(path []string, arg value) error {
	clamp := func(v value) int { return int(max(min(toInteger(v), 1<<31-1), -(1<<31 - 1))) }
	s := &sliceRange{}
	if isArray(arg) {
		list := items(arg)
		s.skip, s.limit = clamp(list[0]), clamp(list[1])
		if s.limit <= 0 {
			return fail(28724, "First argument to $slice must be an array, but is of type: int")
		}
	} else if s.limit = clamp(arg); s.limit < 0 {
		s.limit, s.last = -s.limit, true
	}
	return p.insert(path, &fieldNode{kind: slicedLeaf, slice: s})
}

func (p *projectionParser) elemMatch(path []string, arg value) error {
	if !isObject(arg) {
		return fail(31274, "elemMatch: Invalid argument, object required, but got %s", typeName(arg))
	}
	if len(path) > 1 {
		return fail(31275, "Cannot use $elemMatch projection on a nested field.")
	}
	pr, err := (&filterCompiler{scope: p.scope}).elemMatch(path[0], arg)
	if err != nil {
		return err
	}
	p.matched = true
	return p.insert(path, &fieldNode{kind: elemLeaf, elem: pr.leaf})
}

func (p *projectionParser) positionalField(name string, v value) error {
	path, err := fieldPath(name)
	switch {
	case err != nil:
		return err
	case p.positional != nil:
		return fail(31276, "Cannot specify more than one positional projection per query.")
	case p.excludes || !truthy(v):
		return fail(31395, "positional projection cannot be used with exclusion")
	}
	p.positional, p.includes = path, true
	return p.insert(path, &fieldNode{kind: keptLeaf})
}

// insert puts a leaf in the tree and refuses paths that run over each other.
func (p *projectionParser) insert(path []string, leaf *fieldNode) error {
	n := p.root
	for i, part := range path {
		n.computes = n.computes || leaf.computes
		if n.kids == nil {
			n.kids = map[string]*fieldNode{}
		}
		kid, last := n.kids[part], i == len(path)-1
		switch {
		case kid == nil && last:
			kid = leaf
			n.kids[part] = kid
			n.order = append(n.order, part)
		case kid == nil:
			kid = &fieldNode{}
			n.kids[part] = kid
			n.order = append(n.order, part)
		case last && p.add, kid.kind != noLeaf && p.add:
			return fail(40176, "specification contains two conflicting paths. Cannot specify both '%s' and '%s'",
				join(path), join(path[:i+1]))
		case last:
			return fail(31250, "Path collision at %s", join(path))
		case kid.kind != noLeaf:
			return fail(31249, "Path collision at %s remaining portion %s", join(path), join(path[i+1:]))
		}
		n = kid
	}
	return nil
}
