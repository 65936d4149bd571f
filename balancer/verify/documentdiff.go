package verify

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// DocumentDiff compares the documents of a range with an earlier list of its documents.
type DocumentDiff struct {
	before, after []DocumentHash
	writes        *Writes
}

// NewDocumentDiff returns a DocumentDiff for the earlier documents of a range, in the order of _id. The
// caller puts the current documents in the same order.
func NewDocumentDiff(before []DocumentHash, writes *Writes) *DocumentDiff {
	return &DocumentDiff{before: before, writes: writes}
}

// Put adds the next document.
func (dd *DocumentDiff) Put(doc bson.Raw) {
	id := doc.Lookup("_id")
	dd.after = append(dd.after, DocumentHash{bson.RawValue{Type: id.Type, Value: slices.Clone(id.Value)}, HashOf(doc)})
}

// Differing returns all documents that differ, and the worst verdict on the range, which is never
// Written.
func (dd *DocumentDiff) Differing() (list []DifferingDocument, worst Verdict) {
	worst = Same
	before, after := dd.before, dd.after
	for len(before) > 0 || len(after) > 0 {
		var was, is []DocumentHash
		was, before, is, after = takeNextID(before, after)
		d, differs := compareCopies(was, is)
		switch {
		case !differs:
			continue
		case d.Kind != Doubled && dd.writes.contains(d.ID):
			if worst == Same {
				worst = Explained
			}
		default:
			worst = Different
		}
		list = append(list, d)
	}
	return list, worst
}

// takeNextID splits off the documents with the lowest _id.
func takeNextID(before, after []DocumentHash) (was, beforeRest, is, afterRest []DocumentHash) {
	var id bson.RawValue
	switch {
	case len(before) == 0:
		id = after[0].ID
	case len(after) == 0 || keyorder.Compare(before[0].ID, after[0].ID) <= 0:
		id = before[0].ID
	default:
		id = after[0].ID
	}
	n, m := countWithID(before, id), countWithID(after, id)
	return before[:n], before[n:], after[:m], after[m:]
}

func countWithID(list []DocumentHash, id bson.RawValue) (n int) {
	for n < len(list) && keyorder.Compare(list[n].ID, id) == 0 {
		n++
	}
	return n
}

// compareCopies compares the earlier and current documents with one _id.
func compareCopies(was, is []DocumentHash) (d DifferingDocument, differs bool) {
	gone, came := subtract(was, is), subtract(is, was)
	if len(gone) == 0 && len(came) == 0 {
		return d, false
	}
	if len(gone) > 0 {
		d.ID, d.Before = gone[0].ID, &gone[0].Hash
	}
	if len(came) > 0 {
		d.ID, d.After = came[0].ID, &came[0].Hash
	}
	switch {
	case len(is) > max(1, len(was)):
		d.Kind, d.Before = Doubled, nil
	case len(is) > len(was):
		d.Kind = Added
	case len(is) < len(was):
		d.Kind, d.ID, d.After = Lost, gone[0].ID, nil
	default:
		d.Kind = Changed
	}
	return d, true
}

// subtract returns list minus others, by hash.
func subtract(list, others []DocumentHash) []DocumentHash {
	others = slices.Clone(others)
	return slices.DeleteFunc(slices.Clone(list), func(d DocumentHash) bool {
		i := slices.IndexFunc(others, func(o DocumentHash) bool { return o.Hash == d.Hash })
		if i < 0 {
			return false
		}
		others = slices.Delete(others, i, i+1)
		return true
	})
}
