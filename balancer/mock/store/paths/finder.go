package paths

import (
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/value"
)

// Finder finds fields of the same documents many times: a walk for each would
// be quadratic in the number of fields, so a large document gets an
// index when it has been walked often enough.
type Finder struct {
	documents map[*byte]*walkedDocument
}

// walkedDocument is a document that was walked for fields.
type walkedDocument struct {
	size      int
	walked    int // fields that were passed
	maxWalked int // the most of them at a time
	index     map[string]value.Value
}

// An index is built for a document of at least this size that was walked this often;
// at most maxDocuments documents are remembered.
const (
	minIndexedSize  = 1024
	minIndexedWalks = 32
	maxDocuments    = 16
)

// Find returns the first field of that name, or missing.
func (f *Finder) Find(w *quota.Meter, doc []byte, name string) value.Value {
	if len(doc) < minIndexedSize {
		return document.Lookup(doc, name)
	}
	d := f.documents[&doc[0]]
	if d == nil || d.size != len(doc) {
		d = f.addDocument(doc)
	}
	if d.index != nil {
		return d.index[name]
	}
	if d.walked > minIndexedWalks*max(d.maxWalked, minIndexedWalks) {
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
	d.walked, d.maxWalked = d.walked+passed, max(d.maxWalked, passed)
	return found
}

func (f *Finder) addDocument(doc []byte) *walkedDocument {
	if f.documents == nil || len(f.documents) == maxDocuments {
		f.documents = make(map[*byte]*walkedDocument, maxDocuments)
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
