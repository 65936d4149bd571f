// Package order compares documents by the sort patterns of find, $sort, $push and $sortArray. It follows
// the server's rules for arrays and missing fields.
package order

import (
	"bytes"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// Sort is a compiled sort pattern. For a nil Sort or an empty pattern all documents are equal.
type Sort struct {
	Keys []Key
}

// Key is one field of a sort pattern.
type Key struct {
	Path       []string
	Descending bool
	meta       string
}

// Compile compiles a sort pattern: 1 or -1 for each field, or {$meta: "randVal"}. Errors have the codes of
// the find command. Stages make further checks themselves.
func Compile(pattern bson.Raw) (*Sort, error) {
	s := &Sort{}
	for name, v := range document.Fields(pattern) {
		if value.IsObject(v) {
			op, kind, _ := document.FirstField(v.Value)
			if op != "$meta" {
				return nil, servererr.NewCode(17312, "$meta is the only expression supported by $sort right now")
			}
			if err := checkMetaSort(kind); err != nil {
				return nil, err
			}
			s.Keys = append(s.Keys, Key{meta: value.TextAt(kind.Value)})
			continue
		}
		if !value.IsNumber(v) {
			return nil, servererr.NewCode(15974, "Illegal key in $sort specification: %s: %s", name, v)
		}
		direction := value.ToInteger(v) // a fraction is ignored
		if direction != 1 && direction != -1 {
			return nil, servererr.NewCode(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)")
		}
		path, err := paths.Parse(string(name))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.Keys, func(k Key) bool { return slices.Equal(k.Path, path) }) {
			return nil, servererr.NewCode(7472500, "$sort key must not contain duplicate keys (duplicate: '%s')", name)
		}
		s.Keys = append(s.Keys, Key{Path: path, Descending: direction < 0})
		if len(s.Keys) > 32 {
			return nil, servererr.New(13103, "too many compound keys")
		}
	}
	return s, nil
}

// checkMetaSort rejects every $meta except randVal, because the mock has no metadata of searches.
func checkMetaSort(kind value.Value) error {
	switch name := value.TextAt(kind.Value); name {
	case "randVal":
		return nil
	case "textScore", "searchScore", "vectorSearchScore", "geoNearDistance":
		return servererr.NewCode(40218, "query requires %s metadata, but it is not available", name)
	}
	return servererr.NewCode(31138, "Illegal $meta sort: $meta: %s", kind)
}

// IsEmpty reports whether the sort has no keys.
func (s *Sort) IsEmpty() bool { return s == nil || len(s.Keys) == 0 }

// Compare compares two documents and returns -1, 0 or 1. Missing counts as null. An array counts as its
// smallest element, or as its largest for a descending key. An empty array is less than null.
func (s *Sort) Compare(a, b bson.Raw) int {
	if s == nil {
		return 0
	}
	for _, k := range s.Keys {
		if c := value.Compare(k.SortValue(nil, a), k.SortValue(nil, b)); c != 0 {
			if k.Descending {
				return -c
			}
			return c
		}
	}
	return 0
}

// SortDocuments sorts a slice in place; equal documents keep their order. It fails with the cause of ctx
// when ctx ends.
func (s *Sort) SortDocuments(ctx context.Context, docs []bson.Raw) error {
	w := quota.New(ctx)
	s.SortMetered(w, docs)
	return w.Err()
}

// SortMetered is like SortDocuments and stops early when the meter ends.
func (s *Sort) SortMetered(w *quota.Meter, docs []bson.Raw) {
	if s.IsEmpty() {
		return
	}
	type keyed struct {
		key []byte
		doc bson.Raw
	}
	list := make([]keyed, len(docs))
	for i, d := range docs {
		if w.ChargeBytes(len(d)) != nil {
			return
		}
		list[i] = keyed{s.SortKeyMetered(w, d), d}
	}
	quota.SortStable(w, list, func(a, b keyed) int { return bytes.Compare(a.key, b.key) })
	for i, k := range list {
		docs[i] = k.doc
	}
}

// SortKey returns a sort key of a document. Comparing keys bytewise gives the order of Compare, which suits
// merging sorted streams.
func (s *Sort) SortKey(doc bson.Raw) []byte { return s.SortKeyMetered(nil, doc) }

// SortKeyMetered is like SortKey and stops early when the meter ends.
func (s *Sort) SortKeyMetered(w *quota.Meter, doc bson.Raw) []byte {
	var key []byte
	for _, k := range s.Keys {
		from := len(key)
		key = keyorder.Append(key, k.SortValue(w, doc))
		if k.Descending {
			for i := from; i < len(key); i++ {
				key[i] = ^key[i]
			}
		}
	}
	return key
}

// SortValue returns the value by which a document is sorted.
func (k Key) SortValue(w *quota.Meter, doc []byte) value.Value {
	if k.meta != "" {
		return value.Null()
	}
	v := document.Lookup(doc, k.Path[0])
	if len(k.Path) == 1 && !value.IsArray(v) {
		if value.IsMissing(v) {
			return value.Null()
		}
		return v
	}
	at := []paths.Position{{Value: value.Object(doc), Rest: k.Path}}
	best := value.Value{Type: 0xf1}
	k.forEachValue(w, at[0], func(v value.Value) {
		if best.Type == 0xf1 || k.Descending == (value.Compare(v, best) > 0) && value.Compare(v, best) != 0 {
			best = v
		}
	})
	return best
}

// forEachValue calls add for every value that an index on the key would have.
func (k Key) forEachValue(w *quota.Meter, p paths.Position, add func(value.Value)) {
	p.Follow()
	if p.Done || !value.IsArray(p.Value) {
		if value.IsMissing(p.Value) {
			p.Value = value.Null()
		}
		add(p.Value)
		return
	}
	elements := w.Items(p.Value)
	if len(elements) == 0 {
		k.forEachValue(w, p.ForEmptyArray(), add)
	}
	for _, e := range elements {
		k.forEachValue(w, p.ForElement(e), add)
	}
}
