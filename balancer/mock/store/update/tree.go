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

// maxPaddingNulls is the maximum number of nulls that an update adds to an array to reach an index beyond its
// end.
const maxPaddingNulls = 1_500_000

// node is a document, array or value being changed. Unchanged parts stay encoded.
type node struct {
	name     string
	v        value.Value // valid as long as decoded is false
	decoded  bool
	isArray  bool
	removed  bool
	children []*node
	// byName holds the children of a document by name, if there are many.
	byName map[string]*node
}

func newNode(doc bson.Raw) *node { return &node{v: value.Object(doc)} }

// decode decodes the children of a document or array, and reports whether the value is a document or
// array.
func (n *node) decode(w *quota.Meter) bool {
	if n.decoded {
		return true
	}
	if !value.IsObject(n.v) && !value.IsArray(n.v) {
		return false
	}
	n.decoded, n.isArray = true, value.IsArray(n.v)
	for name, v := range w.Fields(n.v.Value) {
		n.children = append(n.children, &node{name: string(name), v: v})
	}
	return true
}

func (n *node) setValue(v value.Value) { *n = node{name: n.name, v: v} }

// encodedValue returns the encoded value.
func (n *node) encodedValue(w *quota.Meter) value.Value {
	if !n.decoded {
		return n.v
	}
	buf, start := document.Open(nil)
	for i, kid := range n.children {
		v := kid.encodedValue(w)
		if w.ChargeBytes(len(v.Value)) != nil {
			break
		}
		switch {
		case n.isArray:
			buf = document.AppendItem(buf, i, v)
		case !kid.removed:
			buf = document.Append(buf, kid.name, v)
		}
	}
	buf = document.Close(buf, start)
	if n.isArray {
		return value.Array(buf)
	}
	return value.Object(buf)
}

func (n *node) encodedDocument(w *quota.Meter) bson.Raw { return n.encodedValue(w).Value }

// minIndexedChildren is the number of children from which byName is built.
const minIndexedChildren = 16

// child returns the child for a field name or an array index.
func (n *node) child(w *quota.Meter, part string) *node {
	if n.isArray {
		if i, ok := paths.ParseArrayIndex(part); ok && i < len(n.children) {
			return n.children[i]
		}
		return nil
	}
	if n.byName == nil && len(n.children) > minIndexedChildren {
		n.byName = map[string]*node{}
		for _, kid := range slices.Backward(n.children) { // the first field of a name wins
			if w.Charge(1) == nil && !kid.removed {
				n.byName[kid.name] = kid
			}
		}
	}
	if n.byName != nil {
		return n.byName[part]
	}
	for _, kid := range n.children {
		if kid.name == part && !kid.removed {
			return kid
		}
	}
	return nil
}

// appendChild appends a new field.
func (n *node) appendChild(kid *node) {
	n.children = append(n.children, kid)
	if n.byName != nil {
		n.byName[kid.name] = kid
	}
}

// removeChild removes a field. In an array, the element becomes null instead.
func (n *node) removeChild(w *quota.Meter, part string) {
	kid := n.child(w, part)
	switch {
	case kid == nil:
	case n.isArray:
		kid.setValue(value.Null())
	default:
		kid.removed = true
		delete(n.byName, part)
	}
}

// createPath creates the missing fields of a path below b, which must be a document or array, and sets
// the last one to v.
func (n *node) createPath(w *quota.Meter, path []string, v value.Value) error {
	if value.IsMissing(v) {
		return nil
	}
	if !n.decode(w) {
		return notViableErr(path[0], n)
	}
	if kid := n.child(w, path[0]); kid != nil {
		if len(path) == 1 {
			kid.setValue(v)
			return nil
		}
		return kid.createPath(w, path[1:], v)
	}
	for i := len(path) - 1; i > 0; i-- {
		v = value.Object(document.New(document.Field{Name: path[i], Value: v}))
	}
	if !n.isArray {
		n.appendChild(&node{name: path[0], v: v})
		return nil
	}
	at, ok := paths.ParseArrayIndex(path[0])
	if !ok {
		return notViableErr(path[0], n)
	}
	if at-len(n.children) > maxPaddingNulls {
		return servererr.New(mongoerr.CannotBackfillArray, "can't backfill more than %d elements", maxPaddingNulls)
	}
	for len(n.children) < at {
		n.children = append(n.children, &node{v: value.Null()})
	}
	n.children = append(n.children, &node{v: v})
	return nil
}

// notViableErr returns the error for a path that leads through a value that is not a document (28).
func notViableErr(part string, b *node) error {
	return servererr.New(mongoerr.PathNotViable, "Cannot create field '%s' in element {%s: %s}", part, b.name,
		b.encodedValue(nil))
}
