package heat

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
)

// Range is a stretch of shard keys: From <= key < To. They compare, and have no values.
type Range struct{ From, To catalog.Key }

// maxRanges is how many stretches of a query are told apart. One with more of them
// counts as if it went further than it does.
const maxRanges = 1000

// maxNesting is how deep $and and $or are followed.
const maxNesting = 20

// RangesOf returns the stretches of shard keys that a query can want, as its filter says
// of the first fields of the key; nothing where it goes to all shards. With a collation
// other than the simple one, strings say nothing.
func RangesOf(p catalog.KeyPattern, filter bson.Raw, simple bool) []Range {
	r := reader{fields: p.Fields(), hashed: p.HashedField(), simple: simple}
	list := r.union(filter, make([]bounds, p.Len()), 0)
	slices.SortFunc(list, func(a, b Range) int { return a.From.Compare(b.From) })
	return list
}

// bounds are the stretches of encoded values of one field, in order; nil is all values.
type bounds []span

// span is a stretch of encodings: from <= v < to.
type span struct {
	from, to []byte
	point    bool
}

// above is larger than every encoding.
const above = 0x80

type reader struct {
	fields []string
	hashed int
	simple bool
}

// union returns the stretches of a filter beside what is known of the fields.
func (r reader) union(filter bson.Raw, known []bounds, depth int) []Range {
	known = slices.Clone(known)
	ors := r.conjunction(filter, known, depth)
	if len(ors) == 0 || depth >= maxNesting {
		return r.ranges(known)
	}
	var all []Range
	for _, branch := range ors[0] {
		list := r.union(branch, known, depth+1)
		if list == nil || len(all)+len(list) > maxRanges {
			return r.ranges(known)
		}
		all = append(all, list...)
	}
	return all
}

// conjunction narrows the bounds by what a filter says, and returns the branches of its
// $or.
func (r reader) conjunction(filter bson.Raw, known []bounds, depth int) (ors [][]bson.Raw) {
	elements, err := filter.Elements()
	if err != nil || depth > maxNesting {
		return nil
	}
	for _, e := range elements {
		name, v := e.Key(), e.Value()
		switch {
		case name == "$and":
			for _, part := range documents(v) {
				ors = append(ors, r.conjunction(part, known, depth+1)...)
			}
		case name == "$or":
			ors = append(ors, documents(v))
		case !strings.HasPrefix(name, "$"):
			if i := slices.Index(r.fields, name); i >= 0 {
				known[i] = intersect(known[i], r.field(v, i == r.hashed))
			}
		}
	}
	return ors
}

func documents(v bson.RawValue) (list []bson.Raw) {
	array, _ := v.ArrayOK()
	values, _ := array.Values()
	for _, v := range values {
		if doc, is := v.DocumentOK(); is {
			list = append(list, doc)
		}
	}
	return list
}

// field returns what a filter says of one field.
func (r reader) field(v bson.RawValue, hashed bool) bounds {
	if v.Type == bson.TypeRegex {
		return r.prefix(v, hashed)
	}
	doc, isDoc := v.DocumentOK()
	operators, err := doc.Elements()
	if !isDoc || err != nil || len(operators) == 0 || !strings.HasPrefix(operators[0].Key(), "$") {
		return r.equal(v, hashed)
	}
	var all bounds
	options, _ := doc.Lookup("$options").StringValueOK()
	for _, op := range operators {
		if op.Key() == "$regex" && options != "" {
			continue
		}
		all = intersect(all, r.operator(op.Key(), op.Value(), hashed))
	}
	return all
}

func (r reader) operator(name string, v bson.RawValue, hashed bool) bounds {
	switch name {
	case "$eq":
		return r.equal(v, hashed)
	case "$in":
		return r.in(v, hashed)
	case "$regex":
		return r.prefix(v, hashed)
	}
	if hashed || !r.comparable(v) || v.Type == bson.TypeMinKey || v.Type == bson.TypeMaxKey {
		return nil
	}
	first, last := keyorder.FirstByteRange(v.Type)
	at := keyorder.Append(nil, v)
	after := append(slices.Clone(at), above)
	switch name {
	case "$lt":
		return bounds{{from: []byte{first}, to: at}}
	case "$lte":
		return bounds{{from: []byte{first}, to: after}}
	case "$gt":
		return bounds{{from: after, to: []byte{last}}}
	case "$gte":
		return bounds{{from: at, to: []byte{last}}}
	}
	return nil
}

// comparable reports whether a comparison with a value says where in the key's order the
// values are that it wants.
func (r reader) comparable(v bson.RawValue) bool {
	switch v.Type {
	case bson.TypeArray, bson.TypeUndefined, bson.TypeRegex, 0:
		return false
	case bson.TypeString, bson.TypeSymbol, bson.TypeEmbeddedDocument:
		return r.simple
	}
	return true
}

func (r reader) equal(v bson.RawValue, hashed bool) bounds {
	if !r.comparable(v) {
		return nil
	}
	var at []byte
	if hashed {
		at = keyorder.AppendInt64(nil, keyorder.Hash(v))
	} else {
		at = keyorder.Append(nil, v)
	}
	return bounds{{from: at, to: append(slices.Clone(at), above), point: true}}
}

func (r reader) in(v bson.RawValue, hashed bool) bounds {
	array, _ := v.ArrayOK()
	values, err := array.Values()
	if err != nil || len(values) > maxRanges {
		return nil
	}
	all := bounds{}
	for _, v := range values {
		one := r.equal(v, hashed)
		if one == nil {
			return nil
		}
		all = append(all, one...)
	}
	slices.SortFunc(all, func(a, b span) int { return bytes.Compare(a.from, b.from) })
	return slices.CompactFunc(all, func(a, b span) bool { return bytes.Equal(a.from, b.from) })
}

// prefix returns the strings that begin as a regular expression demands.
func (r reader) prefix(v bson.RawValue, hashed bool) bounds {
	pattern, options, isRegex := v.RegexOK()
	if !isRegex {
		pattern, _ = v.StringValueOK()
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || hashed || !r.simple || options != "" || parsed.Op != syntax.OpConcat || len(parsed.Sub) < 2 ||
		parsed.Sub[0].Op != syntax.OpBeginText || parsed.Sub[1].Op != syntax.OpLiteral {
		return nil
	}
	text := string(parsed.Sub[1].Rune)
	at := keyorder.Append(nil, stringValue(text))
	after := keyorder.Append(nil, stringValue(text+"\U0010ffff"))
	return bounds{{from: at, to: after}}
}

func stringValue(text string) bson.RawValue {
	t, value, _ := bson.MarshalValue(text)
	return bson.RawValue{Type: t, Value: value}
}

// intersect returns what is in both; nil is everything.
func intersect(a, b bounds) bounds {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := bounds{}
	for _, x := range a {
		for _, y := range b {
			one := x
			if bytes.Compare(y.from, one.from) > 0 {
				one.from = y.from
			}
			if bytes.Compare(y.to, one.to) < 0 {
				one.to = y.to
			}
			one.point = x.point || y.point
			if bytes.Compare(one.from, one.to) < 0 {
				both = append(both, one)
			}
		}
	}
	return both
}

// ranges joins the bounds of the fields: each of those that are compared with values, and
// the first one after them.
func (r reader) ranges(known []bounds) []Range {
	if known[0] == nil {
		return nil
	}
	prefixes := [][]byte{{}}
	for i, b := range known {
		points := !slices.ContainsFunc(b, func(s span) bool { return !s.point })
		if b == nil || len(prefixes)*len(b) > maxRanges {
			break
		}
		if !points {
			return join(prefixes, b)
		}
		var longer [][]byte
		for _, prefix := range prefixes {
			for _, s := range b {
				longer = append(longer, slices.Concat(prefix, s.from))
			}
		}
		prefixes = longer
		if i == len(known)-1 {
			return whole(prefixes)
		}
	}
	return whole(prefixes)
}

func join(prefixes [][]byte, b bounds) []Range {
	list := []Range{}
	for _, prefix := range prefixes {
		for _, s := range b {
			list = append(list,
				Range{catalog.KeyFromBytes(slices.Concat(prefix, s.from)), catalog.KeyFromBytes(slices.Concat(prefix, s.to))})
		}
	}
	return list
}

// whole returns the ranges of keys that begin so.
func whole(prefixes [][]byte) []Range {
	list := []Range{}
	for _, prefix := range prefixes {
		list = append(list, Range{catalog.KeyFromBytes(prefix), catalog.KeyFromBytes(append(slices.Clone(prefix), above))})
	}
	return list
}
