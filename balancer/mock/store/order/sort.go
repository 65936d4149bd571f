package store

import (
	"bytes"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// Sort is a compiled sort pattern. A nil Sort, and one made from an empty
// pattern, finds all documents equal.
type Sort struct {
	keys []sortKey
}

type sortKey struct {
	path       []string
	descending bool
	meta       string
}

// CompileSort compiles {field: 1 | -1, ...}. Errors have the codes of the
// find command; stages check more.
func CompileSort(pattern bson.Raw) (*Sort, error) {
	s := &Sort{}
	for name, v := range fields(pattern) {
		if isObject(v) {
			op, kind, _ := first(v.Value)
			if op != "$meta" {
				return nil, fail(17312, "$meta is the only expression supported by $sort right now")
			}
			if err := checkMetaSort(kind); err != nil {
				return nil, err
			}
			s.keys = append(s.keys, sortKey{meta: textAt(kind.Value)})
			continue
		}
		if !isNumber(v) {
			return nil, fail(15974, "Illegal key in $sort specification: %s: %s", name, v)
		}
		direction, ok := wholeInteger(v)
		if !ok || direction != 1 && direction != -1 {
			return nil, fail(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)")
		}
		path, err := fieldPath(string(name))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.keys, func(k sortKey) bool { return slices.Equal(k.path, path) }) {
			return nil, fail(7472500, "$sort key must not contain duplicate keys (duplicate: '%s')", name)
		}
		s.keys = append(s.keys, sortKey{path: path, descending: direction < 0})
		if len(s.keys) > 32 {
			return nil, serverError(13103, "too many compound keys")
		}
	}
	return s, nil
}

// checkMetaSort refuses what is not there without a search: of what $meta knows
// all but random numbers.
func checkMetaSort(kind value) error {
	switch name := textAt(kind.Value); name {
	case "randVal":
		return nil
	case "textScore", "searchScore", "vectorSearchScore", "geoNearDistance":
		return fail(40218, "query requires %s metadata, but it is not available", name)
	}
	return fail(31138, "Illegal $meta sort: $meta: %s", kind)
}

// IsEmpty reports whether the sort leaves any order as it is.
func (s *Sort) IsEmpty() bool { return s == nil || len(s.keys) == 0 }

// Compare orders two documents: -1, 0 or 1. Missing counts as null; an array
// counts as its smallest element, or its largest for a descending key, and an
// empty one comes before null.
func (s *Sort) Compare(a, b bson.Raw) int {
	if s == nil {
		return 0
	}
	for _, k := range s.keys {
		if c := compare(k.in(nil, a), k.in(nil, b)); c != 0 {
			if k.descending {
				return -c
			}
			return c
		}
	}
	return 0
}

// Documents sorts a list in place; equal documents keep their order.
func (s *Sort) Documents(docs []bson.Raw) {
	s.sort(nil, docs)
}

// DocumentsIn is Documents that fails with the cause of ctx when that ends.
func (s *Sort) DocumentsIn(ctx context.Context, docs []bson.Raw) error {
	w := newWork(ctx)
	s.sort(w, docs)
	return w.over()
}

// sort is Documents that stops in the middle when the work ends.
func (s *Sort) sort(w *work, docs []bson.Raw) {
	if s.IsEmpty() {
		return
	}
	type keyed struct {
		key []byte
		doc bson.Raw
	}
	list := make([]keyed, len(docs))
	for i, d := range docs {
		if w.handle(len(d)) != nil {
			return
		}
		list[i] = keyed{s.key(w, d), d}
	}
	sortStable(w, list, func(a, b keyed) int { return bytes.Compare(a.key, b.key) })
	for i, k := range list {
		docs[i] = k.doc
	}
}

// Key returns a document's place in the order: comparing keys byte by byte
// gives the order of Compare. It suits merging sorted streams.
func (s *Sort) Key(doc bson.Raw) []byte { return s.key(nil, doc) }

func (s *Sort) key(w *work, doc bson.Raw) []byte {
	var key []byte
	for _, k := range s.keys {
		from := len(key)
		key = keyorder.Append(key, k.in(w, doc))
		if k.descending {
			for i := from; i < len(key); i++ {
				key[i] = ^key[i]
			}
		}
	}
	return key
}

// in finds the value that stands for a document in the order.
func (k sortKey) in(w *work, doc []byte) value {
	if k.meta != "" {
		return nullValue()
	}
	v := lookup(doc, k.path[0])
	if len(k.path) == 1 && !isArray(v) {
		if isMissing(v) {
			return nullValue()
		}
		return v
	}
	at := []position{{v: objectValue(doc), rest: k.path}}
	best := value{Type: 0xf1}
	k.collect(w, at[0], func(v value) {
		if best.Type == 0xf1 || k.descending == (compare(v, best) > 0) && compare(v, best) != 0 {
			best = v
		}
	})
	return best
}

// collect gives every value the key has in a document, as an index would.
func (k sortKey) collect(w *work, p position, add func(value)) {
	p.follow()
	if p.done || !isArray(p.v) {
		if isMissing(p.v) {
			p.v = nullValue()
		}
		add(p.v)
		return
	}
	elements := w.items(p.v)
	if len(elements) == 0 {
		k.collect(w, p.inEmptyArray(), add)
	}
	for _, e := range elements {
		k.collect(w, p.inElement(e), add)
	}
}
