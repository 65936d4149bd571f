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

// Verdict says what is known of a range that differs.
type Verdict string

// The verdicts, from good to bad.
const (
	// Same: all documents are as they were.
	Same Verdict = "same"
	// Explained: what differs are documents that were written.
	Explained Verdict = "explained"
	// Written: documents of the range were written. None was lost or doubled besides, by
	// their number; whether the others have changed can't be told.
	Written Verdict = "written"
	// Different: documents were lost, added, doubled or changed, and no write explains that.
	Different Verdict = "different"
)

// DifferenceNamer finds which document of a range differs, from the sums before and after, and the
// current documents. If exactly one differs the result is certain: that others add up to the same
// two sums is as likely as two documents with one hash.
type DifferenceNamer struct {
	before, after Sum
	writes        *Writes
	differing     []Document
	latest        bson.RawValue
	untouched     int64 // documents that nobody wrote
}

// NewDifferenceNamer returns one for a range, whose documents are to be put in the order of _id.
// Writes are those since before it was read first; nil is none.
func NewDifferenceNamer(before, after Sum, writes *Writes) *DifferenceNamer {
	return &DifferenceNamer{before: before, after: after, writes: writes}
}

// maxNamed bounds how many documents are named of a range.
const maxNamed = 1000

// Put takes the next document of the range.
func (n *DifferenceNamer) Put(doc bson.Raw) {
	h := HashOf(doc)
	id := doc.Lookup("_id")
	if !n.writes.contains(id) {
		n.untouched++
	}
	xor, add := n.before.XOR.xor(n.after.XOR), n.after.Add.minus(n.before.Add)
	twice := n.latest.Type != 0 && keyorder.Compare(id, n.latest) == 0
	n.latest.Type, n.latest.Value = id.Type, append(n.latest.Value[:0], id.Value...)
	oldHash := h.xor(xor)
	switch {
	case len(n.differing) == maxNamed:
	case twice:
		n.addDoubled(id, h)
	case n.after.Docs == n.before.Docs+1 && h == xor && h == add:
		n.add(Document{Kind: Added, ID: id, After: &h})
	case n.after.Docs == n.before.Docs && h.minus(oldHash) == add:
		n.add(Document{Kind: Changed, ID: id, Before: &oldHash, After: &h})
	}
}

// addDoubled names a document that comes again: not also as one that was added.
func (n *DifferenceNamer) addDoubled(id bson.RawValue, h Hash) {
	if last := len(n.differing) - 1; last >= 0 && keyorder.Compare(n.differing[last].ID, id) == 0 {
		n.differing = n.differing[:last]
	}
	n.add(Document{Kind: Doubled, ID: id, After: &h})
}

func (n *DifferenceNamer) add(d Document) {
	d.ID.Value = slices.Clone(d.ID.Value)
	n.differing = append(n.differing, d)
}

// Documents returns which documents differ; none where several do, or one of which nothing
// is left but its hash and more than that differs.
func (n *DifferenceNamer) Documents() []Document {
	if lost, is := n.lost(); is {
		return append(slices.Clone(n.differing), Document{Kind: Lost, Before: &lost})
	}
	return n.differing
}

// lost returns the hash of the document that is gone, if one is and nothing else differs.
func (n *DifferenceNamer) lost() (Hash, bool) {
	xor := n.before.XOR.xor(n.after.XOR)
	return xor, n.after.Docs == n.before.Docs-1 && n.before.Add.minus(n.after.Add) == xor
}

// Verdict tells whether writes explain what differs.
func (n *DifferenceNamer) Verdict() Verdict {
	if n.before == n.after {
		return Same
	}
	least, most, certain := n.writes.existed()
	if n.writes.isEmpty() || n.before.Docs < n.untouched+least || n.before.Docs > n.untouched+most {
		return Different
	}
	named := n.Documents()
	for _, d := range named {
		if d.Kind == Doubled || d.ID.Type != 0 && !n.writes.contains(d.ID) {
			return Different
		}
	}
	_, lost := n.lost()
	if alone := len(named) == 1 && (!lost || certain && most == 1); alone {
		return Explained
	}
	return Written
}
