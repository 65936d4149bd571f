package verify

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// Kind is what has become of a document.
type Kind string

// The kinds of differences.
const (
	Lost    Kind = "lost"    // it is gone
	Added   Kind = "added"   // it was not there
	Changed Kind = "changed" // it is another one
	Doubled Kind = "doubled" // it is there more than once
)

// Document is a document that differs.
type Document struct {
	Kind Kind
	// ID is its _id; the zero value where a digest can't tell.
	ID bson.RawValue
	// Before and After are the hashes of its bytes; nil where it was not, is not, or is unknown.
	Before, After *Hash
}

// Namer tells which document of a range differs, of what the range was and is, and its
// documents as they are. If one alone differs it is certain: that others come to the same
// two sums is as likely as two documents with one hash.
type Namer struct {
	before, after Sum
	found         []Document
	latest        bson.RawValue
	hash          Hash
}

// NewNamer returns one for a range, whose documents are to be put in the order of _id.
func NewNamer(before, after Sum) *Namer { return &Namer{before: before, after: after} }

// mostNamed bounds how many documents are named of a range.
const mostNamed = 1000

// Put takes the next document of the range.
func (n *Namer) Put(doc bson.Raw) {
	h := HashOf(doc)
	id := doc.Lookup("_id")
	xor, add := n.before.XOR.xor(n.after.XOR), n.after.Add.minus(n.before.Add)
	twice := n.latest.Type != 0 && keyorder.Compare(id, n.latest) == 0
	n.latest.Type, n.latest.Value = id.Type, append(n.latest.Value[:0], id.Value...)
	if len(n.found) == mostNamed {
		return
	}
	owned := bson.RawValue{Type: id.Type, Value: id.Value}
	was := h.xor(xor)
	switch {
	case twice:
		n.doubled(owned, h)
	case n.after.Docs == n.before.Docs+1 && h == xor && h == add:
		n.name(Document{Kind: Added, ID: owned, After: &h})
	case n.after.Docs == n.before.Docs && h.minus(was) == add:
		n.name(Document{Kind: Changed, ID: owned, Before: &was, After: &h})
	}
	n.hash = h
}

// doubled names a document that comes again: not also as one that was added.
func (n *Namer) doubled(id bson.RawValue, h Hash) {
	if last := len(n.found) - 1; last >= 0 && keyorder.Compare(n.found[last].ID, id) == 0 {
		n.found = n.found[:last]
	}
	n.name(Document{Kind: Doubled, ID: id, After: &h})
}

func (n *Namer) name(d Document) {
	d.ID.Value = slices.Clone(d.ID.Value)
	n.found = append(n.found, d)
}

// Documents returns which documents differ; none where several do, or one of which nothing
// is left but its hash and more than that differs.
func (n *Namer) Documents() []Document {
	lost := n.before.XOR.xor(n.after.XOR)
	if n.after.Docs == n.before.Docs-1 && n.before.Add.minus(n.after.Add) == lost {
		return append(n.found, Document{Kind: Lost, Before: &lost})
	}
	return n.found
}
