package projection

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// Parser builds the field tree and determines whether the projection includes or excludes fields.
type Parser struct {
	Scope     *expr.Scope
	isFind    bool // $slice, $elemMatch and the positional operator have their meaning in find
	AddFields bool // $addFields: every value is an expression

	Root                             *fieldNode
	includes, excludes, hasElemMatch bool
	includeID                        *bool // whether _id is included; nil if not specified
	positional                       []string
	depth                            int
}

// Mode returns the mode, which the first inclusion or exclusion of a field other than _id determines. A
// projection with only $slice keeps all fields; one with only $elemMatch drops the other fields.
func (p *Parser) Mode() projectionMode {
	switch {
	case p.AddFields:
		return addFieldsMode
	case p.includes:
		return includeMode
	case p.excludes:
		return excludeMode
	case p.hasElemMatch:
		return includeMode
	case p.includeID != nil && *p.includeID:
		return includeMode
	}
	return excludeMode
}

// Parse parses a specification.
func (p *Parser) Parse(spec []byte) error {
	p.Root = &fieldNode{}
	if err := p.parseFields(spec, nil); err != nil {
		return err
	}
	// An inclusion keeps _id by default.
	if p.Mode() == includeMode && p.Root.children["_id"] == nil {
		return p.insertLeaf([]string{"_id"}, &fieldNode{kind: keptLeaf})
	}
	return nil
}

func (p *Parser) parseFields(spec []byte, prefix []string) error {
	if p.depth++; p.depth > expr.MaxDepth {
		return servererr.New(mongoerr.Overflow, "projection exceeds depth limit of %d", expr.MaxDepth)
	}
	defer func() { p.depth-- }()
	for name, v := range document.Fields(spec) {
		if err := p.parseField(string(name), v, prefix); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parser) parseField(name string, v value.Value, prefix []string) error {
	if name == "" {
		return servererr.NewCode(40352, "FieldPath cannot be constructed with empty string")
	}
	if p.isFind && strings.HasSuffix(name, ".$") && len(prefix) == 0 {
		return p.parsePositional(strings.TrimSuffix(name, ".$"), v)
	}
	parts, err := paths.Parse(name)
	if err != nil {
		return err
	}
	path := append(append([]string(nil), prefix...), parts...)
	if !value.IsObject(v) {
		return p.parseSimple(path, v)
	}
	op, arg, ok := document.FirstField(v.Value)
	switch {
	case !ok && p.AddFields:
		return p.addComputed(path, v)
	case !ok:
		return servererr.NewCode(51270, "An empty sub-projection is not a valid value. Found empty object at path")
	case !document.IsOperator(op):
		return p.parseFields(v.Value, path)
	case p.isFind && op == "$slice" && isFindSlice(arg):
		return p.parseSlice(path, arg)
	case p.isFind && op == "$elemMatch":
		return p.parseElemMatch(path, arg)
	case op == "$meta" && !value.IsString(arg):
		return servererr.NewCode(17307, "$meta only supports string arguments")
	case op == "$meta" && !slices.Contains(metaNames, value.TextAt(arg.Value)):
		return servererr.NewCode(17308, "Unsupported argument to $meta: %s", value.TextAt(arg.Value))
	case op == "$meta":
		return servererr.NewCode(40218, "query requires %s metadata, but it is not available", value.TextAt(arg.Value))
	case !p.AddFields && !p.Scope.Language.HasOperator(op):
		return servererr.NewCode(31325, "Unknown expression %s", op)
	}
	return p.addComputed(path, v)
}

// metaNames are the kinds of metadata that a server accepts in $meta.
var metaNames = []string{
	"textScore", "recordId", "indexKey", "sortKey", "searchScore", "searchHighlights", "searchScoreDetails",
	"searchSequenceToken",
	"geoNearDistance", "geoNearPoint", "randVal", "vectorSearchScore", "timeseriesBucketMinTime",
	"timeseriesBucketMaxTime",
}

// parseSimple parses a number or bool, which includes or excludes the field, or a literal or path.
func (p *Parser) parseSimple(path []string, v value.Value) error {
	if p.AddFields || !value.IsNumber(v) && v.Type != bson.TypeBoolean {
		return p.addComputed(path, v)
	}
	keep := value.IsTruthy(v)
	kind := droppedLeaf
	if keep {
		kind = keptLeaf
	}
	if len(path) == 1 && path[0] == "_id" {
		p.includeID = &keep
		return p.insertLeaf(path, &fieldNode{kind: kind})
	}
	switch {
	case keep && p.excludes:
		return servererr.NewCode(31253, "Cannot do inclusion on field %s in exclusion projection", paths.Join(path))
	case !keep && p.includes:
		return servererr.NewCode(31254, "Cannot do exclusion on field %s in inclusion projection", paths.Join(path))
	}
	p.includes, p.excludes = p.includes || keep, p.excludes || !keep
	return p.insertLeaf(path, &fieldNode{kind: kind})
}

func (p *Parser) addComputed(path []string, v value.Value) error {
	if p.excludes {
		if value.IsObject(v) {
			return servererr.NewCode(31252, "Cannot use expression other than $meta in exclusion projection")
		}
		return servererr.NewCode(31310, "Cannot use an expression %s in an exclusion projection", v)
	}
	p.includes = true
	e, err := expr.Compile(v, p.Scope)
	if err != nil {
		return err
	}
	return p.insertLeaf(path, &fieldNode{kind: computedLeaf, expr: e, hasComputed: true})
}

// isFindSlice reports whether a $slice is the projection operator of find and not the expression.
func isFindSlice(arg value.Value) bool {
	if !value.IsArray(arg) {
		return value.IsNumber(arg)
	}
	list := document.Items(arg)
	return len(list) == 2 && value.IsNumber(list[0]) && value.IsNumber(list[1])
}

func (p *Parser) parseSlice(path []string, arg value.Value) error {
	clamp := func(v value.Value) int { return int(max(min(value.ToInteger(v), 1<<31-1), -(1<<31 - 1))) }
	s := &sliceRange{}
	if value.IsArray(arg) {
		list := document.Items(arg)
		s.skip, s.limit = clamp(list[0]), clamp(list[1])
		if s.limit <= 0 {
			return servererr.NewCode(28724, "First argument to $slice must be an array, but is of type: int")
		}
	} else if s.limit = clamp(arg); s.limit < 0 {
		s.limit, s.fromEnd = -s.limit, true
	}
	return p.insertLeaf(path, &fieldNode{kind: slicedLeaf, slice: s})
}

func (p *Parser) parseElemMatch(path []string, arg value.Value) error {
	if !value.IsObject(arg) {
		return servererr.NewCode(31274, "elemMatch: Invalid argument, object required, but got %s", value.TypeName(arg))
	}
	if len(path) > 1 {
		return servererr.NewCode(31275, "Cannot use $elemMatch projection on a nested field.")
	}
	pr, err := (&filter.Compiler{Scope: p.Scope}).CompileElemMatch(path[0], arg)
	if err != nil {
		return err
	}
	p.hasElemMatch = true
	return p.insertLeaf(path, &fieldNode{kind: elemLeaf, elementTest: pr.Leaf})
}

func (p *Parser) parsePositional(name string, v value.Value) error {
	path, err := paths.Parse(name)
	switch {
	case err != nil:
		return err
	case p.positional != nil:
		return servererr.NewCode(31276, "Cannot specify more than one positional projection per query.")
	case p.excludes || !value.IsTruthy(v):
		return servererr.NewCode(31395, "positional projection cannot be used with exclusion")
	}
	p.positional, p.includes = path, true
	return p.insertLeaf(path, &fieldNode{kind: keptLeaf})
}

// insertLeaf adds a leaf to the tree. It fails for colliding paths.
func (p *Parser) insertLeaf(path []string, leaf *fieldNode) error {
	n := p.Root
	for i, part := range path {
		n.hasComputed = n.hasComputed || leaf.hasComputed
		if n.children == nil {
			n.children = map[string]*fieldNode{}
		}
		kid, last := n.children[part], i == len(path)-1
		switch {
		case kid == nil && last:
			kid = leaf
			n.children[part] = kid
			n.childOrder = append(n.childOrder, part)
		case kid == nil:
			kid = &fieldNode{}
			n.children[part] = kid
			n.childOrder = append(n.childOrder, part)
		case last && p.AddFields, kid.kind != noLeaf && p.AddFields:
			return servererr.NewCode(40176, "specification contains two conflicting paths. Cannot specify both '%s' and '%s'",
				paths.Join(path), paths.Join(path[:i+1]))
		case last:
			return servererr.NewCode(31250, "Path collision at %s", paths.Join(path))
		case kid.kind != noLeaf:
			return servererr.NewCode(31249, "Path collision at %s remaining portion %s", paths.Join(path),
				paths.Join(path[i+1:]))
		}
		n = kid
	}
	return nil
}
