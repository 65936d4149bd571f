package update

import (
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// applyOperators makes the changes in the order of their paths, so that new
// fields are appended in that order (rules/03-catalog-and-keys §3.6).
func (u *Update) applyOperators(w *quota.Meter, doc bson.Raw, insert bool) (bson.Raw, error) {
	state := &updating{doc: doc, update: u, insert: insert, meter: w, position: unknownPosition}
	root := newBranch(doc)
	root.unfold(w)
	for _, ch := range u.changes {
		if err := w.Step(1); err != nil {
			return nil, err
		}
		if ch.onInsert && !insert {
			if err := state.findElements(root, ch); err != nil {
				return nil, err
			}
			continue
		}
		if ch.from != nil {
			if err := state.rename(root, ch); err != nil {
				return nil, err
			}
			continue
		}
		path, err := state.place(ch)
		if err != nil {
			return nil, err
		}
		if err := state.change(root, path, ch); err != nil {
			return nil, err
		}
	}
	out := root.document(w)
	return out, w.Over()
}

// unknownPosition: the filter has not been asked which element made it match;
// noPosition: there is none.
const (
	unknownPosition = -1 - iota
	noPosition
)

// place puts the position of the matched element where the path has "$".
func (u *updating) place(ch change) ([]string, error) {
	i := slices.Index(ch.path, "$")
	if i < 0 {
		return ch.path, nil
	}
	if u.position == unknownPosition {
		at, ok := u.update.options.Filter.Position(u.meter, u.doc)
		if u.position = at; !ok || u.insert {
			u.position = noPosition
		}
	}
	if u.position == noPosition {
		return nil, servererr.BadValue("The positional operator did not find the match needed from the query.")
	}
	path := slices.Clone(ch.path)
	path[i] = strconv.Itoa(u.position)
	return path, nil
}

// change follows the path from b and applies the modifier at its end.
func (u *updating) change(b *branch, path []string, ch change) error {
	part := path[0]
	if isArrayPlaceholder(part) {
		return u.changeElements(b, path, ch)
	}
	if !b.unfold(u.meter) {
		if ch.mod.lenient {
			return nil
		}
		return notViable(part, b)
	}
	if b.array {
		if _, ok := paths.ArrayIndex(part); !ok {
			if ch.mod.lenient {
				return nil
			}
			return notViable(part, b)
		}
	}
	kid := b.child(u.meter, part)
	switch {
	case kid == nil && slices.ContainsFunc(path[1:], isArrayPlaceholder):
		return mustExist(ch)
	case kid == nil && !ch.mod.creates:
		return nil
	case kid == nil:
		v, err := ch.mod.apply(value.Value{}, u)
		if err != nil {
			return err
		}
		return b.create(u.meter, path, v)
	case len(path) > 1:
		return u.change(kid, path[1:], ch)
	}
	v, err := ch.mod.apply(kid.value(u.meter), u)
	if err != nil {
		return err
	}
	if value.IsMissing(v) {
		b.remove(u.meter, part)
		return nil
	}
	kid.set(v)
	return nil
}

func mustExist(ch change) error {
	return servererr.BadValue("The path '%s' must exist in the document in order to apply array updates.", ch.text)
}

// findElements looks for the first array whose elements a change is about, which
// must be there also where the change is not made.
func (u *updating) findElements(b *branch, ch change) error {
	for _, part := range ch.path {
		if isArrayPlaceholder(part) {
			if !b.unfold(u.meter) || !b.array {
				return servererr.BadValue("Cannot apply array updates to non-array element %s: %s", b.name, b.value(u.meter))
			}
			return nil
		}
		if !slices.ContainsFunc(ch.path, isArrayPlaceholder) || !b.unfold(u.meter) {
			return nil
		}
		if b = b.child(u.meter, part); b == nil {
			return mustExist(ch)
		}
	}
	return nil
}

// changeElements is $[] and $[identifier].
func (u *updating) changeElements(b *branch, path []string, ch change) error {
	if !b.unfold(u.meter) || !b.array {
		return servererr.BadValue("Cannot apply array updates to non-array element %s: %s", b.name, b.value(u.meter))
	}
	filter := u.update.filters[path[0][2:len(path[0])-1]]
	name := path[0][2 : len(path[0])-1]
	for i, kid := range b.kids {
		if err := u.meter.Step(1); err != nil {
			return err
		}
		if filter != nil {
			ok, err := filter.TestWith(u.meter, document.Of(document.Field{Name: name, Value: kid.value(u.meter)}))
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
		}
		rest := slices.Concat([]string{strconv.Itoa(i)}, path[1:])
		if err := u.change(b, rest, ch); err != nil {
			return err
		}
	}
	return nil
}

// rename moves a field. Neither path may lead through an array.
func (u *updating) rename(root *branch, ch change) error {
	b, through := root, (*branch)(nil) // the first array on the way
	for i, part := range ch.from {
		if !b.unfold(u.meter) {
			return notViable(part, b)
		}
		if _, isIndex := paths.ArrayIndex(part); b.array && !isIndex {
			return notViable(part, b)
		}
		if b.array && through == nil {
			through = b
		}
		kid := b.child(u.meter, part)
		if kid == nil {
			return nil
		}
		if i < len(ch.from)-1 {
			b = kid
			continue
		}
		if through != nil {
			return servererr.BadValue("The source field cannot be an array element, '%s' in doc "+
				"with _id: %s has an array field "+
				"called '%s'", paths.Join(ch.from), document.Lookup(u.doc, "_id"), through.name)
		}
		v := kid.value(u.meter)
		if err := u.noArrays(root, ch); err != nil {
			return err
		}
		if err := root.create(u.meter, ch.path, v); err != nil {
			return err
		}
		b.remove(u.meter, part)
	}
	return nil
}

func (u *updating) noArrays(root *branch, ch change) error {
	b := root
	for _, part := range ch.path {
		if !b.unfold(u.meter) {
			return nil // create tells
		}
		if b.array {
			return servererr.BadValue(
				"The destination field cannot be an array element, '%s' in doc with _id: %s has an array field "+
					"called '%s'",
				ch.text, document.Lookup(u.doc, "_id"), b.name)
		}
		if b = b.child(u.meter, part); b == nil {
			return nil
		}
	}
	return nil
}
