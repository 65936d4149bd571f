package catalog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// KeyPattern is a shard-key pattern such as {region: 1, order_id: "hashed"}.
// It is an immutable value; the zero value is not a pattern.
type KeyPattern struct{ pattern *pattern }

type pattern struct {
	doc    bson.Raw
	fields []string
	paths  [][]string
	hashed int
	min    Key
	max    Key
}

// ParseKeyPattern parses and checks a pattern (rules/03-catalog-and-keys §4.1); every violation is
// BadValue.
func ParseKeyPattern(doc bson.Raw) (KeyPattern, error) {
	p := &pattern{doc: bytes.Clone(doc), hashed: -1}
	for e, rest, ok := keyorder.Next(keyorder.Body(p.doc)); ok; e, rest, ok = keyorder.Next(rest) {
		name := string(e.Name)
		path, err := fieldPath(name)
		if err != nil {
			return KeyPattern{}, err
		}
		switch {
		case isAscending(e.Value):
		case !isHashed(e.Value):
			return KeyPattern{}, mongoerr.New(mongoerr.BadValue, "Shard key %snumerical fields must be set to a value of 1 "+
				"(ascending). Failed to parse field %s", doc, name) // the server's text
		case p.hashed >= 0:
			return KeyPattern{}, mongoerr.New(mongoerr.BadValue, "more than one hashed field in shard key %s",
				humanize.Literal(doc))
		default:
			p.hashed = len(p.fields)
		}
		p.fields = append(p.fields, name)
		p.paths = append(p.paths, path)
	}
	if len(p.fields) == 0 {
		return KeyPattern{}, mongoerr.New(mongoerr.BadValue, "Shard key is empty")
	}
	p.min = p.repeatKey(bson.TypeMinKey, keyorder.AppendMinKey)
	p.max = p.repeatKey(bson.TypeMaxKey, keyorder.AppendMaxKey)
	return KeyPattern{p}, nil
}

func (p *pattern) repeatKey(t bson.Type, add func([]byte) []byte) Key {
	var order, form []byte
	for range p.fields {
		order = add(order)
		form = append(form, byte(t))
	}
	return Key{string(order), string(form)}
}

// fieldPath splits a dotted name and checks its parts.
func fieldPath(name string) ([]string, error) {
	path := strings.Split(name, ".")
	for i, part := range path {
		if part == "" {
			return nil, mongoerr.New(mongoerr.BadValue, "shard key field %q has an empty part", name)
		}
		if part[0] != '$' || i > 0 && (part == "$id" || part == "$db" || part == "$ref") {
			continue
		}
		return nil, mongoerr.New(mongoerr.BadValue, "shard key field %q has a part that begins with $", name)
	}
	return path, nil
}

// isAscending reports whether the value is a number whose integer part is 1.
func isAscending(v bson.RawValue) bool {
	if keyorder.Rank(v.Type) != keyorder.Rank(bson.TypeInt32) {
		return false
	}
	return keyorder.Compare(v, int32Value(1)) >= 0 && keyorder.Compare(v, int32Value(2)) < 0
}

func int32Value(n int32) bson.RawValue {
	return bson.RawValue{Type: bson.TypeInt32, Value: binary.LittleEndian.AppendUint32(nil, uint32(n))}
}

func isHashed(v bson.RawValue) bool {
	s, ok := v.StringValueOK()
	return ok && s == "hashed"
}

// IsZero reports whether this is the zero pattern.
func (p KeyPattern) IsZero() bool { return p.pattern == nil }

// Doc returns the original document of the pattern. It must not be changed.
func (p KeyPattern) Doc() bson.Raw {
	if p.pattern == nil {
		return nil
	}
	return p.pattern.doc
}

// Fields returns the field names in key order; a dotted name is one field.
func (p KeyPattern) Fields() []string {
	if p.pattern == nil {
		return nil
	}
	return append([]string(nil), p.pattern.fields...)
}

// Len returns the number of fields.
func (p KeyPattern) Len() int {
	if p.pattern == nil {
		return 0
	}
	return len(p.pattern.fields)
}

// HashedField returns the position of the hashed field, -1 if there is none.
func (p KeyPattern) HashedField() int {
	if p.pattern == nil {
		return -1
	}
	return p.pattern.hashed
}

// Equal reports whether both patterns are the same for the server, which treats {x: 1} and {x: 1.0} as
// equal.
func (p KeyPattern) Equal(o KeyPattern) bool {
	return p.pattern == o.pattern ||
		p.pattern != nil && o.pattern != nil && keyorder.CompareDocuments(p.pattern.doc, o.pattern.doc) == 0
}

// Extends reports whether the pattern begins with all fields of another pattern, with the same hashed
// field. Then a collection's shard key can be refined to it.
func (p KeyPattern) Extends(o KeyPattern) bool {
	n := o.Len()
	if p.Len() < n || !slices.Equal(p.Fields()[:n], o.Fields()) {
		return false
	}
	hashed := p.HashedField()
	if hashed >= n {
		hashed = -1
	}
	return hashed == o.HashedField()
}

// String returns the pattern as extended JSON.
func (p KeyPattern) String() string { return humanize.Literal(p.Doc()) }

// GlobalMin returns the smallest key: MinKey in every field (rules/03-catalog-and-keys §4.2).
func (p KeyPattern) GlobalMin() Key {
	if p.pattern == nil {
		return Key{}
	}
	return p.pattern.min
}

// GlobalMax returns the greatest key: MaxKey in every field.
func (p KeyPattern) GlobalMax() Key {
	if p.pattern == nil {
		return Key{}
	}
	return p.pattern.max
}

// ParseKey parses a full shard key as in commands and the catalog: every field of the pattern under its
// literal name, in any order, and no other field. The error is ErrNotShardKey with the reason.
func (p KeyPattern) ParseKey(bound bson.Raw) (Key, error) {
	if p.pattern == nil {
		return Key{}, fmt.Errorf("%w: no pattern", ErrNotShardKey)
	}
	values := make([]bson.RawValue, len(p.pattern.fields))
	found := 0
	for e, rest, ok := keyorder.Next(keyorder.Body(bound)); ok; e, rest, ok = keyorder.Next(rest) {
		i := p.pattern.position(e.Name, found)
		switch {
		case i < 0:
			return Key{}, fmt.Errorf("%w: %s has the field %s that is not in %s", ErrNotShardKey, humanize.Literal(bound),
				e.Name, p)
		case values[i].Type != 0:
			return Key{}, fmt.Errorf("%w: %s has the field %s twice", ErrNotShardKey, humanize.Literal(bound), e.Name)
		case e.Value.Type == bson.TypeArray:
			return Key{}, fmt.Errorf("%w: the field %s of %s is an array", ErrNotShardKey, e.Name, humanize.Literal(bound))
		}
		values[i] = e.Value
		found++
	}
	if found < len(p.pattern.fields) {
		return Key{}, fmt.Errorf("%w: %s lacks fields of %s", ErrNotShardKey, humanize.Literal(bound), p)
	}
	return newKey(values), nil
}

// position searches for a field by name, first at the index guess.
func (p *pattern) position(name []byte, guess int) int {
	if guess < len(p.fields) && string(name) == p.fields[guess] {
		return guess
	}
	for i, f := range p.fields {
		if f == string(name) {
			return i
		}
	}
	return -1
}

// newKey returns the key with the values, which are in pattern order.
func newKey(values []bson.RawValue) Key {
	var order, form []byte
	for _, v := range values {
		order = keyorder.Append(order, v)
		form = appendType(form, v)
	}
	return Key{string(order), string(form)}
}

// ExtendBound parses a zone bound: the first fields of the key in key order. The other fields are
// MinKey, in upper bounds too (rules/03-catalog-and-keys §4.5). A bound that is not a prefix of the key
// is ShardKeyNotFound.
func (p KeyPattern) ExtendBound(prefix bson.Raw) (Key, error) {
	return p.extend(prefix, mongoerr.ShardKeyNotFound, mongoerr.ShardKeyNotFound)
}

// extend parses a bound with different error codes for a field that is not the next field of the key,
// and for more fields than the key has.
func (p KeyPattern) extend(prefix bson.Raw, mismatch, longer mongoerr.Code) (Key, error) {
	var values []bson.RawValue
	for e, rest, ok := keyorder.Next(keyorder.Body(prefix)); ok; e, rest, ok = keyorder.Next(rest) {
		i := len(values)
		if i >= p.Len() {
			return Key{}, mongoerr.New(longer, "bound %s is longer than shard key %s", humanize.Literal(prefix), p)
		}
		if string(e.Name) != p.pattern.fields[i] {
			return Key{}, mongoerr.New(mismatch, "bound %s is not a prefix of shard key %s", humanize.Literal(prefix), p)
		}
		values = append(values, e.Value)
	}
	for len(values) < p.Len() {
		values = append(values, bson.RawValue{Type: bson.TypeMinKey})
	}
	return newKey(values), nil
}

// Bound returns the key as the document that the catalog stores: every field with its original BSON
// value.
func (p KeyPattern) Bound(k Key) bson.Raw {
	doc := make([]byte, 4, 4+len(k.encoded)+len(k.types)+16*p.Len())
	order, form := k.encoded, k.types
	for i := 0; i < p.Len() && form != ""; i++ {
		at := len(doc)
		doc = append(append(append(doc, 0), p.pattern.fields[i]...), 0)
		var t bson.Type
		var ok bool
		if t, doc, order, form, ok = takeField(doc, order, form); !ok {
			doc = doc[:at]
			break
		}
		doc[at] = byte(t)
	}
	doc = append(doc, 0)
	binary.LittleEndian.PutUint32(doc, uint32(len(doc)))
	return doc
}

// CheckHashed returns an error for a bound whose hashed field is neither a 64-bit integer nor MinKey
// nor MaxKey: InvalidOptions, as for zones (rules/03-catalog-and-keys §4.7). For such a split point,
// the shard returns CannotSplit.
func (p KeyPattern) CheckHashed(k Key) error {
	if p.HashedField() < 0 {
		return nil
	}
	values := k.Values()
	if p.pattern.hashed >= len(values) {
		return mongoerr.New(mongoerr.InvalidOptions, "bound %s lacks the hashed field of %s", k, p)
	}
	switch values[p.pattern.hashed].Type {
	case bson.TypeInt64, bson.TypeMinKey, bson.TypeMaxKey:
		return nil
	}
	return mongoerr.New(mongoerr.InvalidOptions, "the hashed field of %s must be a 64-bit integer, MinKey or MaxKey in %s",
		p, humanize.Literal(p.Bound(k)))
}
