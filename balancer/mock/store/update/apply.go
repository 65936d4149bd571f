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

// applyOperators applies the changes in the order of their paths, so that new fields are appended in
// that order (rules/03-catalog-and-keys §3.6).
func (u *Update) applyOperators(w *quota.Meter, doc bson.Raw, insert bool) (bson.Raw, error) {
	state := &applyState{doc: doc, update: u, isInsert: insert, meter: w, position: unknownPosition}
	root := newNode(doc)
	root.decode(w)
	for _, ch := range u.changes {
		if err := w.Charge(1); err != nil {
			return nil, err
		}
		if ch.onInsert && !insert {
			if err := state.checkArrayExists(root, ch); err != nil {
				return nil, err
			}
			continue
		}
		if ch.from != nil {
			if err := state.applyRename(root, ch); err != nil {
				return nil, err
			}
			continue
		}
		path, err := state.resolvePosition(ch)
		if err != nil {
			return nil, err
		}
		if err := state.applyChange(root, path, ch); err != nil {
			return nil, err
		}
	}
	out := root.encodedDocument(w)
	return out, w.Err()
}

// unknownPosition: the filter has not yet determined the matching element; noPosition: no element
// matched.
const (
	unknownPosition = -1 - iota
	noPosition
)

// resolvePosition replaces "$" in the path by the index of the matched element.
func (s *applyState) resolvePosition(ch change) ([]string, error) {
	i := slices.Index(ch.path, "$")
	if i < 0 {
		return ch.path, nil
	}
	if s.position == unknownPosition {
		at, ok := s.update.options.Filter.Position(s.meter, s.doc)
		if s.position = at; !ok || s.isInsert {
			s.position = noPosition
		}
	}
	if s.position == noPosition {
		return nil, servererr.BadValue("The positional operator did not find the match needed from the query.")
	}
	path := slices.Clone(ch.path)
	path[i] = strconv.Itoa(s.position)
	return path, nil
}

// applyChange follows the path from b and applies the modifier at the end of the path.
func (s *applyState) applyChange(b *node, path []string, ch change) error {
	part := path[0]
	if isArrayPlaceholder(part) {
		return s.changeElements(b, path, ch)
	}
	if !b.decode(s.meter) {
		if ch.mod.ignoresBadPath {
			return nil
		}
		return notViableErr(part, b)
	}
	if b.isArray {
		if _, ok := paths.ParseArrayIndex(part); !ok {
			if ch.mod.ignoresBadPath {
				return nil
			}
			return notViableErr(part, b)
		}
	}
	kid := b.child(s.meter, part)
	switch {
	case kid == nil && slices.ContainsFunc(path[1:], isArrayPlaceholder):
		return pathMustExistErr(ch)
	case kid == nil && !ch.mod.createsPath:
		return nil
	case kid == nil:
		v, err := ch.mod.apply(value.Value{}, s)
		if err != nil {
			return err
		}
		return b.createPath(s.meter, path, v)
	case len(path) > 1:
		return s.applyChange(kid, path[1:], ch)
	}
	v, err := ch.mod.apply(kid.encodedValue(s.meter), s)
	if err != nil {
		return err
	}
	if value.IsMissing(v) {
		b.removeChild(s.meter, part)
		return nil
	}
	kid.setValue(v)
	return nil
}

func pathMustExistErr(ch change) error {
	return servererr.BadValue("The path '%s' must exist in the document in order to apply array updates.", ch.text)
}

// checkArrayExists checks that the first array of a change with $[] exists. This is required even if the
// change is not applied.
func (s *applyState) checkArrayExists(b *node, ch change) error {
	for _, part := range ch.path {
		if isArrayPlaceholder(part) {
			if !b.decode(s.meter) || !b.isArray {
				return servererr.BadValue("Cannot apply array updates to non-array element %s: %s", b.name, b.encodedValue(s.meter))
			}
			return nil
		}
		if !slices.ContainsFunc(ch.path, isArrayPlaceholder) || !b.decode(s.meter) {
			return nil
		}
		if b = b.child(s.meter, part); b == nil {
			return pathMustExistErr(ch)
		}
	}
	return nil
}

// changeElements applies a change with $[] or $[identifier] to the selected elements.
func (s *applyState) changeElements(b *node, path []string, ch change) error {
	if !b.decode(s.meter) || !b.isArray {
		return servererr.BadValue("Cannot apply array updates to non-array element %s: %s", b.name, b.encodedValue(s.meter))
	}
	filter := s.update.filters[path[0][2:len(path[0])-1]]
	name := path[0][2 : len(path[0])-1]
	for i, kid := range b.children {
		if err := s.meter.Charge(1); err != nil {
			return err
		}
		if filter != nil {
			ok, err := filter.TestMetered(s.meter, document.New(document.Field{Name: name, Value: kid.encodedValue(s.meter)}))
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
		}
		rest := slices.Concat([]string{strconv.Itoa(i)}, path[1:])
		if err := s.applyChange(b, rest, ch); err != nil {
			return err
		}
	}
	return nil
}

// applyRename moves a field. Neither path may contain an array.
func (s *applyState) applyRename(root *node, ch change) error {
	b, through := root, (*node)(nil) // the first array on the path
	for i, part := range ch.from {
		if !b.decode(s.meter) {
			return notViableErr(part, b)
		}
		if _, isIndex := paths.ParseArrayIndex(part); b.isArray && !isIndex {
			return notViableErr(part, b)
		}
		if b.isArray && through == nil {
			through = b
		}
		kid := b.child(s.meter, part)
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
				"called '%s'", paths.Join(ch.from), document.Lookup(s.doc, "_id"), through.name)
		}
		v := kid.encodedValue(s.meter)
		if err := s.checkNoArrays(root, ch); err != nil {
			return err
		}
		if err := root.createPath(s.meter, ch.path, v); err != nil {
			return err
		}
		b.removeChild(s.meter, part)
	}
	return nil
}

func (s *applyState) checkNoArrays(root *node, ch change) error {
	b := root
	for _, part := range ch.path {
		if !b.decode(s.meter) {
			return nil // createPath returns the error
		}
		if b.isArray {
			return servererr.BadValue(
				"The destination field cannot be an array element, '%s' in doc with _id: %s has an array field "+
					"called '%s'",
				ch.text, document.Lookup(s.doc, "_id"), b.name)
		}
		if b = b.child(s.meter, part); b == nil {
			return nil
		}
	}
	return nil
}
