package update

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// maxPadding is how many nulls an update may add to an array to reach a place
// after its end.
const maxPadding = 1_500_000

// node is a document, array or value being changed. Untouched parts
// stay encoded.
type node struct {
	name     string
	v        value.Value // as long as kids is not open
	decoded  bool
	isArray  bool
	removed  bool
	children []*node
	// byName has the kids of a document by their names, once there are many.
	byName map[string]*node
}

func newNode(doc bson.Raw) *node { return &node{v: value.Object(doc)} }

// decode decodes a document or array into its fields, and reports whether the
// value is one.
func (b *node) decode(w *quota.Meter) bool {
	if b.decoded {
		return true
	}
	if !value.IsObject(b.v) && !value.IsArray(b.v) {
		return false
	}
	b.decoded, b.isArray = true, value.IsArray(b.v)
	for name, v := range w.Fields(b.v.Value) {
		b.children = append(b.children, &node{name: string(name), v: v})
	}
	return true
}

func (b *node) setValue(v value.Value) { *b = node{name: b.name, v: v} }

// encodedValue returns the encoded value.
func (b *node) encodedValue(w *quota.Meter) value.Value {
	if !b.decoded {
		return b.v
	}
	buf, start := document.Open(nil)
	for i, kid := range b.children {
		v := kid.encodedValue(w)
		if w.ChargeBytes(len(v.Value)) != nil {
			break
		}
		switch {
		case b.isArray:
			buf = document.AppendItem(buf, i, v)
		case !kid.removed:
			buf = document.Append(buf, kid.name, v)
		}
	}
	buf = document.Close(buf, start)
	if b.isArray {
		return value.Array(buf)
	}
	return value.Object(buf)
}

func (b *node) encodedDocument(w *quota.Meter) bson.Raw { return b.encodedValue(w).Value }

// minIndexedChildren is the number of fields from which an index by name pays off.
const minIndexedChildren = 16

// child finds a field, or an element by its place.
func (b *node) child(w *quota.Meter, part string) *node {
	if b.isArray {
		if i, ok := paths.ParseArrayIndex(part); ok && i < len(b.children) {
			return b.children[i]
		}
		return nil
	}
	if b.byName == nil && len(b.children) > minIndexedChildren {
		b.byName = map[string]*node{}
		for _, kid := range slices.Backward(b.children) { // the first of a name counts
			if w.Charge(1) == nil && !kid.removed {
				b.byName[kid.name] = kid
			}
		}
	}
	if b.byName != nil {
		return b.byName[part]
	}
	for _, kid := range b.children {
		if kid.name == part && !kid.removed {
			return kid
		}
	}
	return nil
}

// appendChild puts a new field at the end.
func (b *node) appendChild(kid *node) {
	b.children = append(b.children, kid)
	if b.byName != nil {
		b.byName[kid.name] = kid
	}
}

// removeChild takes a field away; in an array the element becomes null instead.
func (b *node) removeChild(w *quota.Meter, part string) {
	kid := b.child(w, part)
	switch {
	case kid == nil:
	case b.isArray:
		kid.setValue(value.Null())
	default:
		kid.removed = true
		delete(b.byName, part)
	}
}

// createPath makes the fields of a path below this branch, which must be open or
// openable, and puts v at the end. Only the part that is missing is made.
func (b *node) createPath(w *quota.Meter, path []string, v value.Value) error {
	if value.IsMissing(v) {
		return nil
	}
	if !b.decode(w) {
		return notViableErr(path[0], b)
	}
	if kid := b.child(w, path[0]); kid != nil {
		if len(path) == 1 {
			kid.setValue(v)
			return nil
		}
		return kid.createPath(w, path[1:], v)
	}
	for i := len(path) - 1; i > 0; i-- {
		v = value.Object(document.New(document.Field{Name: path[i], Value: v}))
	}
	if !b.isArray {
		b.appendChild(&node{name: path[0], v: v})
		return nil
	}
	at, ok := paths.ParseArrayIndex(path[0])
	if !ok {
		return notViableErr(path[0], b)
	}
	if at-len(b.children) > maxPadding {
		return servererr.New(mongoerr.CannotBackfillArray, "can't backfill more than %d elements", maxPadding)
	}
	for len(b.children) < at {
		b.children = append(b.children, &node{v: value.Null()})
	}
	b.children = append(b.children, &node{v: v})
	return nil
}

// notViableErr returns the error of a path that leads through something that is no
// document (28).
func notViableErr(part string, b *node) error {
	return servererr.New(mongoerr.PathNotViable, "Cannot create field '%s' in element {%s: %s}", part, b.name,
		b.encodedValue(nil))
}
