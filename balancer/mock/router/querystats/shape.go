package querystats

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/document"
)

// RenameFunc returns the displayed name of a database, collection or field.
type RenameFunc func(name string) string

// shaper computes query shapes.
type shaper struct{ rename RenameFunc }

// path renames each part of a dotted path.
func (s shaper) path(path string) string {
	parts := strings.Split(path, ".")
	for i, part := range parts {
		parts[i] = s.rename(part)
	}
	return strings.Join(parts, ".")
}

func (s shaper) namespace(db, coll string) bson.D {
	if !strings.HasPrefix(coll, "$cmd") {
		coll = s.rename(coll)
	}
	return bson.D{{Key: "db", Value: s.rename(db)}, {Key: "coll", Value: coll}}
}

// command returns the shape of a command; nil if it has none.
func (s shaper) command(db, name string, body bson.Raw) bson.D {
	coll, isText := body.Lookup(name).StringValueOK()
	if !isText {
		coll = "$cmd.aggregate"
	}
	shape := bson.D{{Key: "cmdNs", Value: s.namespace(db, coll)}}
	if collation, given := body.Lookup("collation").DocumentOK(); given {
		shape = append(shape, bson.E{Key: "collation", Value: collation})
	}
	shape = append(shape, bson.E{Key: "command", Value: name})
	switch name {
	case "find":
		return append(shape, s.find(body)...)
	case "distinct":
		return append(shape, bson.E{Key: "key", Value: s.path(args.Text(body.Lookup("key")))},
			bson.E{Key: "query", Value: s.filter(body.Lookup("query"))})
	case "aggregate":
		stages, err := args.Documents(body.Lookup("pipeline"))
		if err != nil {
			return nil
		}
		return append(shape, bson.E{Key: "pipeline", Value: s.pipeline(stages)})
	}
	return nil
}

// find returns the fields of a find's shape except its namespace.
func (s shaper) find(body bson.Raw) bson.D {
	shape := bson.D{{Key: "filter", Value: s.filter(body.Lookup("filter"))}}
	if sort, given := body.Lookup("sort").DocumentOK(); given && !document.IsEmpty(sort) {
		shape = append(shape, bson.E{Key: "sort", Value: s.order(sort)})
	}
	if fields, given := body.Lookup("projection").DocumentOK(); given && !document.IsEmpty(fields) {
		shape = append(shape, bson.E{Key: "projection", Value: s.projection(fields)})
	}
	for _, name := range []string{"limit", "skip"} {
		if v := body.Lookup(name); args.IsTrueOrNonzero(v) {
			shape = append(shape, bson.E{Key: name, Value: placeholder(v)})
		}
	}
	for _, name := range []string{"singleBatch", "tailable", "awaitData", "noCursorTimeout", "allowDiskUse",
		"allowPartialResults"} {
		if v := body.Lookup(name); v.Type == bson.TypeBoolean && args.IsTrueOrNonzero(v) {
			shape = append(shape, bson.E{Key: name, Value: true})
		}
	}
	return shape
}

// filter converts each condition to a document with its operator. Several conditions are joined by $and.
func (s shaper) filter(v bson.RawValue) bson.D {
	doc, _ := v.DocumentOK()
	var clauses []bson.D
	for _, e := range elements(doc) {
		clauses = append(clauses, s.clauses(e.Key(), e.Value())...)
	}
	switch len(clauses) {
	case 0:
		return bson.D{}
	case 1:
		return clauses[0]
	}
	return bson.D{{Key: "$and", Value: clauses}}
}

func (s shaper) clauses(name string, v bson.RawValue) []bson.D {
	one := func(name string, value any) []bson.D { return []bson.D{{{Key: name, Value: value}}} }
	switch {
	case name == "$and" || name == "$or" || name == "$nor":
		list := bson.A{}
		alternatives, _ := args.Documents(v)
		for _, doc := range alternatives {
			list = append(list, s.filter(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc}))
		}
		return one(name, list)
	case name == "$expr":
		return one(name, s.expression(v))
	case strings.HasPrefix(name, "$"):
		return one(name, placeholder(v))
	}
	name = s.path(name)
	operators, isDoc := v.DocumentOK()
	if !isDoc || !isOperator(operators) {
		return one(name, bson.D{{Key: "$eq", Value: placeholder(v)}})
	}
	var list []bson.D
	for _, e := range elements(operators) {
		list = append(list, one(name, bson.D{{Key: e.Key(), Value: s.operand(e.Key(), e.Value())}})...)
	}
	return list
}

// operand returns the operand of an operator in a condition.
func (s shaper) operand(operator string, v bson.RawValue) any {
	doc, isDoc := v.DocumentOK()
	if operator != "$not" && operator != "$elemMatch" || !isDoc {
		return placeholder(v)
	}
	if !isOperator(doc) {
		return s.filter(v)
	}
	shape := bson.D{}
	for _, e := range elements(doc) {
		shape = append(shape, bson.E{Key: e.Key(), Value: s.operand(e.Key(), e.Value())})
	}
	return shape
}

func (s shaper) order(doc bson.Raw) bson.D {
	shape := bson.D{}
	for _, e := range elements(doc) {
		shape = append(shape, bson.E{Key: s.path(e.Key()), Value: e.Value()})
	}
	return shape
}

// projection converts an inclusion to true and an exclusion to false.
func (s shaper) projection(doc bson.Raw) bson.D {
	shape := bson.D{}
	for _, e := range elements(doc) {
		shown := s.expression(e.Value())
		if _, isNumber := args.Number(e.Value()); isNumber || e.Value().Type == bson.TypeBoolean {
			shown = args.IsTrueOrNonzero(e.Value())
		}
		shape = append(shape, bson.E{Key: s.path(e.Key()), Value: shown})
	}
	return shape
}

func (s shaper) pipeline(stages []bson.Raw) bson.A {
	list := bson.A{}
	for _, stage := range stages {
		for _, e := range elements(stage) {
			list = append(list, bson.D{{Key: e.Key(), Value: s.stage(e.Key(), e.Value())}})
		}
	}
	return list
}

func (s shaper) stage(name string, v bson.RawValue) any {
	doc, isDoc := v.DocumentOK()
	text, isText := v.StringValueOK()
	switch {
	case name == "$match":
		return s.filter(v)
	case isDoc && name == "$project":
		return s.projection(doc)
	case isDoc && name == "$sort":
		return s.order(doc)
	case isDoc && (name == "$lookup" || name == "$unionWith" || name == "$graphLookup"):
		return s.join(doc)
	case isText && !strings.HasPrefix(text, "$"):
		return s.path(text) // a field or collection name
	}
	return s.expression(v)
}

// join returns the shape of a stage that joins another collection: the names of the collection and of
// fields stay.
func (s shaper) join(doc bson.Raw) bson.D {
	shape := bson.D{}
	for _, name := range []string{"from", "coll", "as", "localField", "foreignField", "connectFromField",
		"connectToField"} {
		if text, given := doc.Lookup(name).StringValueOK(); given {
			shape = append(shape, bson.E{Key: name, Value: s.path(text)})
		}
	}
	for _, e := range elements(doc) {
		stages, err := args.Documents(e.Value())
		switch {
		case e.Value().Type == bson.TypeString && !strings.HasPrefix(args.Text(e.Value()), "$"):
		case e.Key() == "pipeline" && err == nil:
			shape = append(shape, bson.E{Key: "pipeline", Value: s.pipeline(stages)})
		default:
			shape = append(shape, bson.E{Key: e.Key(), Value: s.expression(e.Value())})
		}
	}
	return shape
}

// expression keeps operators and paths of an expression and replaces other values.
func (s shaper) expression(v bson.RawValue) any {
	text, _ := v.StringValueOK()
	switch {
	case strings.HasPrefix(text, "$$"):
		return text
	case strings.HasPrefix(text, "$"):
		return "$" + s.path(text[1:])
	}
	if list, isArray := v.ArrayOK(); isArray && !isLiteral(v) {
		shape := bson.A{}
		for _, e := range elements(bson.Raw(list)) {
			shape = append(shape, s.expression(e.Value()))
		}
		return shape
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return placeholder(v)
	}
	shape := bson.D{}
	for _, e := range elements(doc) {
		name := e.Key()
		if !strings.HasPrefix(name, "$") {
			name = s.path(name)
		}
		shape = append(shape, bson.E{Key: name, Value: s.expression(e.Value())})
	}
	return shape
}

// isLiteral reports whether a value contains no path and no document.
func isLiteral(v bson.RawValue) bool {
	list, isArray := v.ArrayOK()
	if !isArray {
		return v.Type != bson.TypeEmbeddedDocument && !strings.HasPrefix(args.Text(v), "$")
	}
	for _, e := range elements(bson.Raw(list)) {
		if !isLiteral(e.Value()) {
			return false
		}
	}
	return true
}

// namedTypes are the types whose placeholder is not "?" followed by the name of the type.
var namedTypes = map[bson.Type]string{
	bson.TypeInt32: "?number", bson.TypeInt64: "?number", bson.TypeDouble: "?number", bson.TypeDecimal128: "?number",
}

// placeholder returns the placeholder of a value.
func placeholder(v bson.RawValue) string {
	if text, known := namedTypes[v.Type]; known {
		return text
	}
	list, isArray := v.ArrayOK()
	if !isArray {
		return "?" + args.TypeName(v.Type)
	}
	inner, same := "", true
	for _, e := range elements(bson.Raw(list)) {
		one := placeholder(e.Value())
		same = same && (inner == "" || one == inner)
		inner = one
	}
	switch {
	case inner == "":
		return "[]"
	case !same:
		inner = ""
	}
	return "?array<" + inner + ">"
}

// isOperator reports whether a document begins with an operator.
func isOperator(doc bson.Raw) bool {
	first, err := doc.IndexErr(0)
	return err == nil && strings.HasPrefix(first.Key(), "$")
}

func elements(doc bson.Raw) []bson.RawElement {
	list, _ := doc.Elements() // no error: the command was well-formed
	return list
}
