package store

import "go.mongodb.org/mongo-driver/v2/bson"

// finder finds fields of one document many times: a walk for each would cost
// the square of the number of fields, so that a large document gets an index
// when it has been walked often enough. Another document begins anew.
type finder struct {
	doc    bson.Raw
	walked int // fields that were passed
	most   int // the most of them at a time
	index  map[string]value
}

// An index is made for a document of some size that was gone through as often.
const (
	indexedSize = 1024
	indexedWalk = 32
)

// find returns the first field of that name, or missing.
func (f *finder) find(w *work, doc []byte, name string) value {
	if len(doc) < indexedSize {
		return lookup(doc, name)
	}
	if len(f.doc) != len(doc) || &f.doc[0] != &doc[0] {
		*f = finder{doc: doc}
	}
	if f.index != nil {
		return f.index[name]
	}
	if f.walked > indexedWalk*max(f.most, indexedWalk) {
		f.index = indexFields(doc)
		return f.index[name]
	}
	passed, found := 0, value{}
	for n, v := range w.fields(doc) {
		if passed++; string(n) == name {
			found = v
			break
		}
	}
	f.walked, f.most = f.walked+passed, max(f.most, passed)
	return found
}

func indexFields(doc []byte) map[string]value {
	index := map[string]value{}
	for n, v := range fields(doc) {
		if _, twice := index[string(n)]; !twice {
			index[string(n)] = v
		}
	}
	return index
}
