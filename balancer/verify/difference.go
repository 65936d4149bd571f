package verify

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// DifferenceKind is the kind of a difference.
type DifferenceKind string

// The kinds of differences.
const (
	Lost    DifferenceKind = "lost"    // the document is gone
	Added   DifferenceKind = "added"   // the document did not exist
	Changed DifferenceKind = "changed" // the document has other content
	Doubled DifferenceKind = "doubled" // the document exists more than once
)

// DifferingDocument is a document that differs.
type DifferingDocument struct {
	Kind DifferenceKind
	// ID is the document's _id; the zero value where it is unknown.
	ID bson.RawValue
	// Before and After are the hashes of the document; nil where it did not exist, does not exist, or
	// is unknown.
	Before, After *Hash
}

// Verdict says what is known about a range that differs.
type Verdict string

// The verdicts, from good to bad.
const (
	// Same: all documents are unchanged.
	Same Verdict = "same"
	// Explained: only documents that were written differ.
	Explained Verdict = "explained"
	// Written: documents of the range were written. The number of documents shows that no other
	// document was lost or doubled. Whether other documents have changed is unknown.
	Written Verdict = "written"
	// Different: documents were lost, added, doubled or changed, and no write explains that.
	Different Verdict = "different"
)

// DifferenceFinder finds which document of a range differs, from the sums before and after and the
// current documents. If exactly one document differs, the result is certain: that other differences
// lead to the same two sums is as unlikely as two documents with the same hash.
type DifferenceFinder struct {
	before, after Sum
	writes        *Writes
	differing     []DifferingDocument
	latest        bson.RawValue
	unwrittenDocs int64 // documents without writes
}

// NewDifferenceFinder returns a DifferenceFinder for a range. The caller puts the documents of the range
// in the order of _id. writes holds the writes since before the first read; it may be nil.
func NewDifferenceFinder(before, after Sum, writes *Writes) *DifferenceFinder {
	return &DifferenceFinder{before: before, after: after, writes: writes}
}

// maxNamedDocuments is the maximum number of documents that are named for a range.
const maxNamedDocuments = 1000

// Put adds the next document of the range.
func (n *DifferenceFinder) Put(doc bson.Raw) {
	h := HashOf(doc)
	id := doc.Lookup("_id")
	if !n.writes.contains(id) {
		n.unwrittenDocs++
	}
	xor, add := n.before.XOR.xor(n.after.XOR), n.after.Add.minus(n.before.Add)
	twice := n.latest.Type != 0 && keyorder.Compare(id, n.latest) == 0
	n.latest.Type, n.latest.Value = id.Type, append(n.latest.Value[:0], id.Value...)
	oldHash := h.xor(xor)
	switch {
	case len(n.differing) == maxNamedDocuments:
	case twice:
		n.addDoubled(id, h)
	case n.after.Docs == n.before.Docs+1 && h == xor && h == add:
		n.add(DifferingDocument{Kind: Added, ID: id, After: &h})
	case n.after.Docs == n.before.Docs && h.minus(oldHash) == add:
		n.add(DifferingDocument{Kind: Changed, ID: id, Before: &oldHash, After: &h})
	}
}

// addDoubled adds a doubled document, and removes the same document from the added ones.
func (n *DifferenceFinder) addDoubled(id bson.RawValue, h Hash) {
	if last := len(n.differing) - 1; last >= 0 && keyorder.Compare(n.differing[last].ID, id) == 0 {
		n.differing = n.differing[:last]
	}
	n.add(DifferingDocument{Kind: Doubled, ID: id, After: &h})
}

func (n *DifferenceFinder) add(d DifferingDocument) {
	d.ID.Value = slices.Clone(d.ID.Value)
	n.differing = append(n.differing, d)
}

// Differing returns the documents that differ. It returns none where several differ, or where a
// document is gone and there is another difference.
func (n *DifferenceFinder) Differing() []DifferingDocument {
	if lost, ok := n.onlyLost(); ok {
		return append(slices.Clone(n.differing), DifferingDocument{Kind: Lost, Before: &lost})
	}
	return n.differing
}

// onlyLost returns the hash of the document that is gone, and reports whether that is the only difference.
func (n *DifferenceFinder) onlyLost() (Hash, bool) {
	xor := n.before.XOR.xor(n.after.XOR)
	return xor, n.after.Docs == n.before.Docs-1 && n.before.Add.minus(n.after.Add) == xor
}

// Verdict says whether writes explain the differences.
func (n *DifferenceFinder) Verdict() Verdict {
	if n.before == n.after {
		return Same
	}
	least, most, certain := n.writes.countExisting()
	if n.writes.isEmpty() || n.before.Docs < n.unwrittenDocs+least || n.before.Docs > n.unwrittenDocs+most {
		return Different
	}
	named := n.Differing()
	for _, d := range named {
		if d.Kind == Doubled || d.ID.Type != 0 && !n.writes.contains(d.ID) {
			return Different
		}
	}
	_, lost := n.onlyLost()
	if alone := len(named) == 1 && (!lost || certain && most == 1); alone {
		return Explained
	}
	return Written
}
