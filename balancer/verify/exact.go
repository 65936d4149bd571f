package verify

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// Exact tells of each document of a range what has become of it, by a list of those that were there.
type Exact struct {
	before, after []Listed
	writes        *Writes
}

// NewExact returns one for the documents that a range had, in the order of _id. What it has now is to
// be put in that order.
func NewExact(before []Listed, writes *Writes) *Exact { return &Exact{before: before, writes: writes} }

// Put takes the next document.
func (e *Exact) Put(doc bson.Raw) {
	id := doc.Lookup("_id")
	e.after = append(e.after, Listed{bson.RawValue{Type: id.Type, Value: slices.Clone(id.Value)}, HashOf(doc)})
}

// Documents returns all that differ, and what the worst of them makes of the range: none is ever
// Written.
func (e *Exact) Documents() (list []Document, worst Verdict) {
	worst = Same
	before, after := e.before, e.after
	for len(before) > 0 || len(after) > 0 {
		var was, is []Listed
		was, before, is, after = least(before, after)
		d, differs := become(was, is)
		switch {
		case !differs:
			continue
		case d.Kind != Doubled && e.writes.has(d.ID):
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

// least takes the documents with the least _id.
func least(before, after []Listed) (was, beforeRest, is, afterRest []Listed) {
	var id bson.RawValue
	switch {
	case len(before) == 0:
		id = after[0].ID
	case len(after) == 0 || keyorder.Compare(before[0].ID, after[0].ID) <= 0:
		id = before[0].ID
	default:
		id = after[0].ID
	}
	n, m := having(before, id), having(after, id)
	return before[:n], before[n:], after[:m], after[m:]
}

func having(list []Listed, id bson.RawValue) (n int) {
	for n < len(list) && keyorder.Compare(list[n].ID, id) == 0 {
		n++
	}
	return n
}

// become says what has become of the documents with one _id.
func become(was, is []Listed) (d Document, differs bool) {
	gone, came := without(was, is), without(is, was)
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

// without returns the documents that others are not among.
func without(list, others []Listed) []Listed {
	others = slices.Clone(others)
	return slices.DeleteFunc(slices.Clone(list), func(d Listed) bool {
		i := slices.IndexFunc(others, func(o Listed) bool { return o.Hash == d.Hash })
		if i < 0 {
			return false
		}
		others = slices.Delete(others, i, i+1)
		return true
	})
}
