package paths

import (
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/value"
)

// Finder finds fields of the same documents many times: a walk for each would
// cost the square of the number of fields, so that a large document gets an
// index when it has been walked often enough.
type Finder struct {
	documents map[*byte]*walkedDocument
}

// walkedDocument is a document that was walked for fields.
type walkedDocument struct {
	size   int
	walked int // fields that were passed
	most   int // the most of them at a time
	index  map[string]value.Value
}

// An index is made for a document of some size that was gone through as often;
// so many documents are known at a time.
const (
	indexedSize   = 1024
	indexedWalks  = 32
	knownDocument = 16
)

// Find returns the first field of that name, or missing.
func (f *Finder) Find(w *quota.Meter, doc []byte, name string) value.Value {
	if len(doc) < indexedSize {
		return document.Lookup(doc, name)
	}
	d := f.documents[&doc[0]]
	if d == nil || d.size != len(doc) {
		d = f.know(doc)
	}
	if d.index != nil {
		return d.index[name]
	}
	if d.walked > indexedWalks*max(d.most, indexedWalks) {
		d.index = indexFields(w, doc)
		return d.index[name]
	}
	passed, found := 0, value.Value{}
	for n, v := range w.Fields(doc) {
		if passed++; string(n) == name {
			found = v
			break
		}
	}
	d.walked, d.most = d.walked+passed, max(d.most, passed)
	return found
}

func (f *Finder) know(doc []byte) *walkedDocument {
	if f.documents == nil || len(f.documents) == knownDocument {
		f.documents = make(map[*byte]*walkedDocument, knownDocument)
	}
	d := &walkedDocument{size: len(doc)}
	f.documents[&doc[0]] = d // and keeps the document where it is
	return d
}

func indexFields(w *quota.Meter, doc []byte) map[string]value.Value {
	index := map[string]value.Value{}
	for n, v := range w.Fields(doc) {
		if _, twice := index[string(n)]; !twice {
			index[string(n)] = v
		}
	}
	return index
}
