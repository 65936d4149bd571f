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
// beyond its end.
const maxPadding = 1_500_000

// branch is a document, array or value being changed. What is not touched
// stays as bytes.
type branch struct {
	name  string
	v     value.Value // as long as kids is not open
	open  bool
	array bool
	gone  bool
	kids  []*branch
	// byName has the kids of a document by their names, once there are many.
	byName map[string]*branch
}

func newBranch(doc bson.Raw) *branch { return &branch{v: value.Object(doc)} }

// unfold turns a document or array into its fields, and reports whether the
// value is one.
func (b *branch) unfold(w *quota.Meter) bool {
	if b.open {
		return true
	}
	if !value.IsObject(b.v) && !value.IsArray(b.v) {
		return false
	}
	b.open, b.array = true, value.IsArray(b.v)
	for name, v := range w.Fields(b.v.Value) {
		b.kids = append(b.kids, &branch{name: string(name), v: v})
	}
	return true
}

func (b *branch) set(v value.Value) { *b = branch{name: b.name, v: v} }

// value folds the branch up again.
func (b *branch) value(w *quota.Meter) value.Value {
	if !b.open {
		return b.v
	}
	buf, start := document.Open(nil)
	for i, kid := range b.kids {
		v := kid.value(w)
		if w.Handle(len(v.Value)) != nil {
			break
		}
		switch {
		case b.array:
			buf = document.AppendItem(buf, i, v)
		case !kid.gone:
			buf = document.Append(buf, kid.name, v)
		}
	}
	buf = document.Close(buf, start)
	if b.array {
		return value.Array(buf)
	}
	return value.Object(buf)
}

func (b *branch) document(w *quota.Meter) bson.Raw { return b.value(w).Value }

// manyKids is when it pays to have an index of them.
const manyKids = 16

// child finds a field, or an element by its place.
func (b *branch) child(w *quota.Meter, part string) *branch {
	if b.array {
		if i, ok := paths.ArrayIndex(part); ok && i < len(b.kids) {
			return b.kids[i]
		}
		return nil
	}
	if b.byName == nil && len(b.kids) > manyKids {
		b.byName = map[string]*branch{}
		for _, kid := range slices.Backward(b.kids) { // the first of a name counts
			if w.Step(1) == nil && !kid.gone {
				b.byName[kid.name] = kid
			}
		}
	}
	if b.byName != nil {
		return b.byName[part]
	}
	for _, kid := range b.kids {
		if kid.name == part && !kid.gone {
			return kid
		}
	}
	return nil
}

// add puts a new field at the end.
func (b *branch) add(kid *branch) {
	b.kids = append(b.kids, kid)
	if b.byName != nil {
		b.byName[kid.name] = kid
	}
}

// remove takes a field away; in an array the element becomes null instead.
func (b *branch) remove(w *quota.Meter, part string) {
	kid := b.child(w, part)
	switch {
	case kid == nil:
	case b.array:
		kid.set(value.Null())
	default:
		kid.gone = true
		delete(b.byName, part)
	}
}

// create makes the fields of a path below this branch, which must be open or
// openable, and puts v at the end. Only the part that is missing is made.
func (b *branch) create(w *quota.Meter, path []string, v value.Value) error {
	if value.IsMissing(v) {
		return nil
	}
	if !b.unfold(w) {
		return notViable(path[0], b)
	}
	if kid := b.child(w, path[0]); kid != nil {
		if len(path) == 1 {
			kid.set(v)
			return nil
		}
		return kid.create(w, path[1:], v)
	}
	for i := len(path) - 1; i > 0; i-- {
		v = value.Object(document.Of(document.Field{Name: path[i], Value: v}))
	}
	if !b.array {
		b.add(&branch{name: path[0], v: v})
		return nil
	}
	at, ok := paths.ArrayIndex(path[0])
	if !ok {
		return notViable(path[0], b)
	}
	if at-len(b.kids) > maxPadding {
		return servererr.New(mongoerr.CannotBackfillArray, "can't backfill more than %d elements", maxPadding)
	}
	for len(b.kids) < at {
		b.kids = append(b.kids, &branch{v: value.Null()})
	}
	b.kids = append(b.kids, &branch{v: v})
	return nil
}

// notViable returns the error of a path that leads through something that is no
// document (28).
func notViable(part string, b *branch) error {
	return servererr.New(mongoerr.PathNotViable, "Cannot create field '%s' in element {%s: %s}", part, b.name,
		b.value(nil))
}
