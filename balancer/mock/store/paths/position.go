package store

import "go.mongodb.org/mongo-driver/v2/bson"

// position is how far one field of the index has been followed.
type position struct {
	v    value
	rest []string // path parts still to follow
	done bool     // v is final even if it is an array
}

// follow goes down through objects, and through arrays where the path names
// an element by its place.
func (p *position) follow() {
	for len(p.rest) > 0 && !p.done {
		switch {
		case isObject(p.v):
			p.v = lookup(p.v.Value, p.rest[0])
		case isArray(p.v):
			if _, ok := arrayIndex(p.rest[0]); !ok {
				return
			}
			e := lookup(p.v.Value, p.rest[0])
			if isMissing(e) {
				return
			}
			p.v = e
		default:
			p.v, p.done = value{}, true
			return
		}
		p.rest = p.rest[1:]
	}
}

// inEmptyArray returns what an empty array counts as: at the end of the path
// undefined, before it missing.
func (p position) inEmptyArray() position {
	if len(p.rest) == 0 {
		return position{v: value{Type: bson.TypeUndefined}, done: true}
	}
	return position{done: true}
}

func (p position) inElement(e value) position {
	switch {
	case len(p.rest) == 0:
		return position{v: e, done: true}
	case isObject(e):
		return position{v: e, rest: p.rest}
	}
	return position{done: true}
}
