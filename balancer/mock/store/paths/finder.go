package paths

import (
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/value"
)

// Finder looks up many fields of the same documents. Searching a document for each field would be
// quadratic in the number of fields. So a large document gets an index after enough searches.
type Finder struct {
	documents map[*byte]*walkedDocument
}

// walkedDocument is a document that was searched for fields.
type walkedDocument struct {
	size         int
	fieldsWalked int // number of fields passed so far
	longestWalk  int // maximum number of fields passed by one search
	index        map[string]value.Value
}

// A document gets an index if it has at least this size and was searched this often. The Finder
// remembers at most maxDocuments documents.
const (
	minIndexedSize  = 1024
	minIndexedWalks = 32
	maxDocuments    = 16
)

// Find returns the first field with that name, or missing.
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
	if d.fieldsWalked > minIndexedWalks*max(d.longestWalk, minIndexedWalks) {
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
	d.fieldsWalked, d.longestWalk = d.fieldsWalked+passed, max(d.longestWalk, passed)
	return found
}

func (f *Finder) addDocument(doc []byte) *walkedDocument {
	if f.documents == nil || len(f.documents) == maxDocuments {
		f.documents = make(map[*byte]*walkedDocument, maxDocuments)
	}
	d := &walkedDocument{size: len(doc)}
	f.documents[&doc[0]] = d // also keeps doc alive, so that its address stays unique
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
