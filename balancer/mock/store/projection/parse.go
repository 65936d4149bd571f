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

// Parser builds the field tree and finds out whether the projection
// includes or excludes.
type Parser struct {
	Scope *expr.Scope
	find  bool // $slice, $elemMatch and the positional operator have their find meaning
	Add   bool // $addFields: every value is an expression

	Root                        *fieldNode
	includes, excludes, matched bool
	id                          *bool // what _id alone says
	positional                  []string
	depth                       int
}

// Mode is decided by the first field other than _id that says; $slice alone
// keeps all, $elemMatch alone drops the rest.
func (p *Parser) Mode() projectionMode {
	switch {
	case p.Add:
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

// Parse reads a specification.
func (p *Parser) Parse(spec []byte) error {
	p.Root = &fieldNode{}
	if err := p.fields(spec, nil); err != nil {
		return err
	}
	// An inclusion keeps the _id unless told otherwise.
	if p.Mode() == including && p.Root.kids["_id"] == nil {
		return p.insert([]string{"_id"}, &fieldNode{kind: keptLeaf})
	}
	return nil
}

func (p *Parser) fields(spec []byte, prefix []string) error {
	if p.depth++; p.depth > expr.MaxDepth {
		return servererr.New(mongoerr.Overflow, "projection exceeds depth limit of %d", expr.MaxDepth)
	}
	defer func() { p.depth-- }()
	for name, v := range document.Fields(spec) {
		if err := p.field(string(name), v, prefix); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parser) field(name string, v value.Value, prefix []string) error {
	if name == "" {
		return servererr.Of(40352, "FieldPath cannot be constructed with empty string")
	}
	if p.find && strings.HasSuffix(name, ".$") && len(prefix) == 0 {
		return p.positionalField(strings.TrimSuffix(name, ".$"), v)
	}
	parts, err := paths.Parse(name)
	if err != nil {
		return err
	}
	path := append(append([]string(nil), prefix...), parts...)
	if !value.IsObject(v) {
		return p.simple(path, v)
	}
	op, arg, ok := document.First(v.Value)
	switch {
	case !ok && p.Add:
		return p.computed(path, v)
	case !ok:
		return servererr.Of(51270, "An empty sub-projection is not a valid value. Found empty object at path")
	case !document.IsOperator(op):
		return p.fields(v.Value, path)
	case p.find && op == "$slice" && findSlice(arg):
		return p.slice(path, arg)
	case p.find && op == "$elemMatch":
		return p.elemMatch(path, arg)
	case op == "$meta" && !value.IsString(arg):
		return servererr.Of(17307, "$meta only supports string arguments")
	case op == "$meta" && !slices.Contains(metaNames, value.TextAt(arg.Value)):
		return servererr.Of(17308, "Unsupported argument to $meta: %s", value.TextAt(arg.Value))
	case op == "$meta":
		return servererr.Of(40218, "query requires %s metadata, but it is not available", value.TextAt(arg.Value))
	case !p.Add && !p.Scope.Language.Known(op):
		return servererr.Of(31325, "Unknown expression %s", op)
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
func (p *Parser) simple(path []string, v value.Value) error {
	if p.Add || !value.IsNumber(v) && v.Type != bson.TypeBoolean {
		return p.computed(path, v)
	}
	keep := value.Truthy(v)
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
		return servererr.Of(31253, "Cannot do inclusion on field %s in exclusion projection", paths.Join(path))
	case !keep && p.includes:
		return servererr.Of(31254, "Cannot do exclusion on field %s in inclusion projection", paths.Join(path))
	}
	p.includes, p.excludes = p.includes || keep, p.excludes || !keep
	return p.insert(path, &fieldNode{kind: kind})
}

func (p *Parser) computed(path []string, v value.Value) error {
	if p.excludes {
		if value.IsObject(v) {
			return servererr.Of(31252, "Cannot use expression other than $meta in exclusion projection")
		}
		return servererr.Of(31310, "Cannot use an expression %s in an exclusion projection", v)
	}
	p.includes = true
	e, err := expr.Compile(v, p.Scope)
	if err != nil {
		return err
	}
	return p.insert(path, &fieldNode{kind: computedLeaf, expr: e, computes: true})
}

// findSlice reports whether a $slice is find's, and not the expression.
func findSlice(arg value.Value) bool {
	if !value.IsArray(arg) {
		return value.IsNumber(arg)
	}
	list := document.Items(arg)
	return len(list) == 2 && value.IsNumber(list[0]) && value.IsNumber(list[1])
}

func (p *Parser) slice(path []string, arg value.Value) error {
	clamp := func(v value.Value) int { return int(max(min(value.ToInteger(v), 1<<31-1), -(1<<31 - 1))) }
	s := &sliceRange{}
	if value.IsArray(arg) {
		list := document.Items(arg)
		s.skip, s.limit = clamp(list[0]), clamp(list[1])
		if s.limit <= 0 {
			return servererr.Of(28724, "First argument to $slice must be an array, but is of type: int")
		}
	} else if s.limit = clamp(arg); s.limit < 0 {
		s.limit, s.last = -s.limit, true
	}
	return p.insert(path, &fieldNode{kind: slicedLeaf, slice: s})
}

func (p *Parser) elemMatch(path []string, arg value.Value) error {
	if !value.IsObject(arg) {
		return servererr.Of(31274, "elemMatch: Invalid argument, object required, but got %s", value.TypeName(arg))
	}
	if len(path) > 1 {
		return servererr.Of(31275, "Cannot use $elemMatch projection on a nested field.")
	}
	pr, err := (&filter.Compiler{Scope: p.Scope}).ElemMatch(path[0], arg)
	if err != nil {
		return err
	}
	p.matched = true
	return p.insert(path, &fieldNode{kind: elemLeaf, elem: pr.Leaf})
}

func (p *Parser) positionalField(name string, v value.Value) error {
	path, err := paths.Parse(name)
	switch {
	case err != nil:
		return err
	case p.positional != nil:
		return servererr.Of(31276, "Cannot specify more than one positional projection per query.")
	case p.excludes || !value.Truthy(v):
		return servererr.Of(31395, "positional projection cannot be used with exclusion")
	}
	p.positional, p.includes = path, true
	return p.insert(path, &fieldNode{kind: keptLeaf})
}

// insert puts a leaf in the tree and refuses paths that run over each other.
func (p *Parser) insert(path []string, leaf *fieldNode) error {
	n := p.Root
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
		case last && p.Add, kid.kind != noLeaf && p.Add:
			return servererr.Of(40176, "specification contains two conflicting paths. Cannot specify both '%s' and '%s'",
				paths.Join(path), paths.Join(path[:i+1]))
		case last:
			return servererr.Of(31250, "Path collision at %s", paths.Join(path))
		case kid.kind != noLeaf:
			return servererr.Of(31249, "Path collision at %s remaining portion %s", paths.Join(path), paths.Join(path[i+1:]))
		}
		n = kid
	}
	return nil
}
