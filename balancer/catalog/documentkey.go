package catalog

import (
	"encoding/binary"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// DocumentKey returns the shard key of a document to be stored (rules/03-catalog-and-keys §4.3): a
// missing field is null, and the hashed field is hashed. An array as a value or in a path is
// ShardKeyNotFound.
func (p KeyPattern) DocumentKey(doc bson.Raw) (Key, error) {
	var values []bson.RawValue
	for i := range p.Len() {
		v, err := p.fieldValue(doc, i)
		if err != nil {
			return Key{}, err
		}
		values = append(values, p.keyValue(i, v))
	}
	return newKey(values), nil
}

// AppendDocumentKey appends the comparable bytes of DocumentKey, which suffice to find the chunk of a
// document.
func (p KeyPattern) AppendDocumentKey(dst []byte, doc bson.Raw) ([]byte, error) {
	for i := range p.Len() {
		v, err := p.fieldValue(doc, i)
		if err != nil {
			return dst, err
		}
		dst = p.appendKeyValue(dst, i, v)
	}
	return dst, nil
}

// fieldValue returns the value of a field of the key in a document to be stored.
func (p KeyPattern) fieldValue(doc bson.Raw, field int) (bson.RawValue, error) {
	v, found := lookup(doc, p.pattern.paths[field])
	switch {
	case v.Type == bson.TypeArray:
		return v, mongoerr.New(mongoerr.ShardKeyNotFound, "Shard key cannot contain array values or array descendants.")
	case !found:
		return bson.RawValue{Type: bson.TypeNull}, nil
	}
	return v, nil
}

// ArrayField returns the first field of the key that is an array or lies in an array in a document;
// empty if there is none.
func (p KeyPattern) ArrayField(doc bson.Raw) string {
	for i, path := range p.pattern.paths {
		if v, _ := lookup(doc, path); v.Type == bson.TypeArray {
			return p.pattern.fields[i]
		}
	}
	return ""
}

// keyValue returns a field value as part of a key: hashed if the field is hashed.
func (p KeyPattern) keyValue(field int, v bson.RawValue) bson.RawValue {
	if field != p.pattern.hashed {
		return v
	}
	return bson.RawValue{Type: bson.TypeInt64, Value: binary.LittleEndian.AppendUint64(nil, uint64(keyorder.Hash(v)))}
}

// appendKeyValue appends the comparable bytes of keyValue without building that value.
func (p KeyPattern) appendKeyValue(dst []byte, field int, v bson.RawValue) []byte {
	if field == p.pattern.hashed {
		return keyorder.AppendInt64(dst, keyorder.Hash(v))
	}
	return keyorder.Append(dst, v)
}

// lookup follows a path. If an array is in the path, lookup returns the array.
func lookup(doc []byte, path []string) (bson.RawValue, bool) {
	for e, rest, ok := keyorder.Next(keyorder.Body(doc)); ok; e, rest, ok = keyorder.Next(rest) {
		if string(e.Name) != path[0] {
			continue
		}
		switch {
		case len(path) == 1 || e.Value.Type == bson.TypeArray:
			return e.Value, true
		case e.Value.Type == bson.TypeEmbeddedDocument:
			return lookup(e.Value.Value, path[1:])
		}
		break
	}
	return bson.RawValue{}, false
}

// QueryKey returns the shard key that a filter selects: it needs an equality for every field, as {a:
// 1}, {a: {$eq: 1}} or inside $and (rules/03-catalog-and-keys §4.3). The hashed field is hashed.
// QueryKey returns false if a field has no equality, two different ones, or one with an array or a
// regular expression.
func (p KeyPattern) QueryKey(filter bson.Raw) (Key, bool) {
	if p.pattern == nil {
		return Key{}, false
	}
	q := filterEqualities{pattern: p.pattern, values: make([]bson.RawValue, p.Len())}
	q.collect(filter, 0)
	if q.conflict {
		return Key{}, false
	}
	for i, v := range q.values {
		if !isSingleValue(v) {
			return Key{}, false
		}
		q.values[i] = p.keyValue(i, v)
	}
	return newKey(q.values), true
}

// isSingleValue reports whether an equality with a value selects a single value of a key: the value is
// not an array or a regular expression, and is not missing.
func isSingleValue(v bson.RawValue) bool {
	switch v.Type {
	case 0, bson.TypeArray, bson.TypeRegex, bson.TypeUndefined:
		return false
	}
	return true
}

// AppendQueryKey appends the comparable bytes of the shard key that a filter selects. valueOf returns
// the value of each field. AppendQueryKey returns false like QueryKey.
func (p KeyPattern) AppendQueryKey(dst []byte, valueOf func(field string) (bson.RawValue, bool)) ([]byte, bool) {
	for i := range p.Len() {
		v, ok := valueOf(p.pattern.fields[i])
		if !ok || !isSingleValue(v) {
			return dst, false
		}
		dst = p.appendKeyValue(dst, i, v)
	}
	return dst, p.pattern != nil
}

// filterEqualities collects the equalities of a filter.
type filterEqualities struct {
	pattern  *pattern
	values   []bson.RawValue
	conflict bool
}

const maxAndDepth = 100

func (q *filterEqualities) collect(filter []byte, depth int) {
	if depth > maxAndDepth {
		return
	}
	for e, rest, ok := keyorder.Next(keyorder.Body(filter)); ok; e, rest, ok = keyorder.Next(rest) {
		if string(e.Name) == "$and" && e.Value.Type == bson.TypeArray {
			for c, left, ok := keyorder.Next(keyorder.Body(e.Value.Value)); ok; c, left, ok = keyorder.Next(left) {
				if c.Value.Type == bson.TypeEmbeddedDocument {
					q.collect(c.Value.Value, depth+1)
				}
			}
			continue
		}
		if len(e.Name) > 0 && e.Name[0] == '$' {
			continue
		}
		if !isOperators(e.Value) {
			if e.Value.Type != bson.TypeRegex {
				q.addEquality(string(e.Name), e.Value)
			}
			continue
		}
		for op, left, ok := keyorder.Next(keyorder.Body(e.Value.Value)); ok; op, left, ok = keyorder.Next(left) {
			if string(op.Name) == "$eq" {
				q.addEquality(string(e.Name), op.Value)
			}
		}
	}
}

// isOperators reports whether a value is a document of operators such as {$gt: 1}, and not a literal.
func isOperators(v bson.RawValue) bool {
	if v.Type != bson.TypeEmbeddedDocument {
		return false
	}
	e, _, ok := keyorder.Next(keyorder.Body(v.Value))
	if !ok || len(e.Name) == 0 || e.Name[0] != '$' {
		return false
	}
	switch string(e.Name) {
	case "$ref", "$id", "$db":
		return false
	}
	return true
}

// addEquality records an equality for the field and for the fields inside an object value: {a: {b: 1}}
// also sets a.b.
func (q *filterEqualities) addEquality(name string, v bson.RawValue) {
	for i, field := range q.pattern.fields {
		switch {
		case field == name:
			q.set(i, v)
		case len(field) > len(name) && field[:len(name)] == name && field[len(name)] == '.':
			if v.Type != bson.TypeEmbeddedDocument {
				continue
			}
			depth := strings.Count(name, ".") + 1
			if inner, ok := lookup(v.Value, q.pattern.paths[i][depth:]); ok {
				q.set(i, inner)
			}
		}
	}
}

func (q *filterEqualities) set(i int, v bson.RawValue) {
	if q.values[i].Type != 0 && keyorder.Compare(q.values[i], v) != 0 {
		q.conflict = true
	}
	q.values[i] = v
}
