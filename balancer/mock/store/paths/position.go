package paths

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/value"
)

// Position is the state of following one path through a document.
type Position struct {
	Value value.Value
	Rest  []string // the remaining path components
	Done  bool     // Value is final even if it is an array
}

// Follow descends through objects, and through arrays where the path has an index.
func (p *Position) Follow() {
	for len(p.Rest) > 0 && !p.Done {
		switch {
		case value.IsObject(p.Value):
			p.Value = document.Lookup(p.Value.Value, p.Rest[0])
		case value.IsArray(p.Value):
			if _, ok := ParseArrayIndex(p.Rest[0]); !ok {
				return
			}
			e := document.Lookup(p.Value.Value, p.Rest[0])
			if value.IsMissing(e) {
				return
			}
			p.Value = e
		default:
			p.Value, p.Done = value.Value{}, true
			return
		}
		p.Rest = p.Rest[1:]
	}
}

// ForEmptyArray returns the position for an empty array: undefined at the end of the path, missing before
// it.
func (p Position) ForEmptyArray() Position {
	if len(p.Rest) == 0 {
		return Position{Value: value.Value{Type: bson.TypeUndefined}, Done: true}
	}
	return Position{Done: true}
}

// ForElement returns the position in an element of the array at p.
func (p Position) ForElement(e value.Value) Position {
	switch {
	case len(p.Rest) == 0:
		return Position{Value: e, Done: true}
	case value.IsObject(e):
		return Position{Value: e, Rest: p.Rest}
	}
	return Position{Done: true}
}
