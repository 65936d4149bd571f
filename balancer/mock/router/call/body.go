package call

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// Body is the document of a command. It indexes the positions of its fields, because they are looked up
// repeatedly.
type Body struct {
	bson.Raw
	offsets []fieldOffsets
}

// fieldOffsets is the position of a field in a document: its name, its value and its end.
type fieldOffsets struct{ name, value, end uint32 }

// NewBody indexes the positions of a document's fields. It uses buf if buf is large enough.
func NewBody(doc bson.Raw, buf []fieldOffsets) Body {
	b := Body{Raw: doc, offsets: buf[:0]}
	at := uint32(len("size"))
	for w := keyorder.NewWalk(doc); w.Next(); {
		m := fieldOffsets{name: at + 1}
		m.value = m.name + uint32(len(w.Name)) + 1
		m.end = m.value + uint32(len(w.Value.Value))
		b.offsets = append(b.offsets, m)
		at = m.end
	}
	return b
}

// Lookup returns the value at a path, or the zero value if it does not exist.
func (b Body) Lookup(path ...string) bson.RawValue {
	for _, m := range b.offsets {
		if string(b.Raw[m.name:m.value-1]) != path[0] {
			continue
		}
		v := bson.RawValue{Type: bson.Type(b.Raw[m.name-1]), Value: b.Raw[m.value:m.end:m.end]}
		if len(path) == 1 {
			return v
		}
		switch v.Type {
		case bson.TypeEmbeddedDocument, bson.TypeArray:
			return bson.Raw(v.Value).Lookup(path[1:]...)
		}
		return bson.RawValue{}
	}
	return bson.RawValue{}
}
