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

// Range is a range of shard keys: From <= key < To. Keys can be compared, but not decoded into values.
type Range struct{ From, To catalog.Key }

// maxRanges limits the ranges of a query. A query with more ranges is treated as if it matched a larger
// range.
const maxRanges = 1000

// maxNesting limits the depth of nested $and and $or.
const maxNesting = 20

// QueryRanges returns the ranges of shard keys that a filter can match, from its conditions on the
// first fields of the key. It returns nil for a query that goes to all shards. With a collation other
// than the simple one, conditions on strings are ignored.
func QueryRanges(p catalog.KeyPattern, filter bson.Raw, simple bool) []Range {
	r := filterReader{fields: p.Fields(), hashed: p.HashedField(), simpleCollation: simple}
	list := r.filterRanges(filter, make([]fieldSpans, p.Len()), 0)
	slices.SortFunc(list, func(a, b Range) int { return a.From.Compare(b.From) })
	return list
}

// fieldSpans are the spans of one field's encoded values, sorted; nil means all values.
type fieldSpans []span

// span is a range of encodings: from <= v < to.
type span struct {
	from, to []byte
	point    bool
}

// aboveAll is larger than every encoding.
const aboveAll = 0x80

type filterReader struct {
	fields          []string
	hashed          int
	simpleCollation bool
}

// filterRanges returns the key ranges of a filter, combined with the known spans of the fields.
func (r filterReader) filterRanges(filter bson.Raw, known []fieldSpans, depth int) []Range {
	known = slices.Clone(known)
	ors := r.narrow(filter, known, depth)
	if len(ors) == 0 || depth >= maxNesting {
		return r.keyRanges(known)
	}
	all := []Range{} // nil would mean all keys
	for _, branch := range ors[0] {
		list := r.filterRanges(branch, known, depth+1)
		if list == nil || len(all)+len(list) > maxRanges {
			return r.keyRanges(known)
		}
		all = append(all, list...)
	}
	return all
}

// narrow narrows the spans by the conditions of a filter, and returns the branches of its $or.
func (r filterReader) narrow(filter bson.Raw, known []fieldSpans, depth int) (ors [][]bson.Raw) {
	elements, err := filter.Elements()
	if err != nil || depth > maxNesting {
		return nil
	}
	for _, e := range elements {
		name, v := e.Key(), e.Value()
		switch {
		case name == "$and":
			for _, part := range catalog.Documents(v) {
				ors = append(ors, r.narrow(part, known, depth+1)...)
			}
		case name == "$or":
			ors = append(ors, catalog.Documents(v))
		case !strings.HasPrefix(name, "$"):
			if i := slices.Index(r.fields, name); i >= 0 {
				known[i] = intersect(known[i], r.valueSpans(v, i == r.hashed))
			}
		}
	}
	return ors
}

// valueSpans returns the spans that a condition allows for one field.
func (r filterReader) valueSpans(v bson.RawValue, hashed bool) fieldSpans {
	if v.Type == bson.TypeRegex {
		return r.prefixSpans(v, hashed)
	}
	doc, isDoc := v.DocumentOK()
	operators, err := doc.Elements()
	if !isDoc || err != nil || len(operators) == 0 || !strings.HasPrefix(operators[0].Key(), "$") {
		return r.equalSpans(v, hashed)
	}
	var all fieldSpans
	options, _ := doc.Lookup("$options").StringValueOK()
	for _, op := range operators {
		if op.Key() == "$regex" && options != "" {
			continue
		}
		all = intersect(all, r.operatorSpans(op.Key(), op.Value(), hashed))
	}
	return all
}

func (r filterReader) operatorSpans(name string, v bson.RawValue, hashed bool) fieldSpans {
	switch name {
	case "$eq":
		return r.equalSpans(v, hashed)
	case "$in":
		return r.inSpans(v, hashed)
	case "$regex":
		return r.prefixSpans(v, hashed)
	}
	if hashed || !r.isComparable(v) || v.Type == bson.TypeMinKey || v.Type == bson.TypeMaxKey {
		return nil
	}
	first, last := keyorder.FirstByteRange(v.Type)
	at := keyorder.Append(nil, v)
	after := append(slices.Clone(at), aboveAll)
	switch name {
	case "$lt":
		return fieldSpans{{from: []byte{first}, to: at}}
	case "$lte":
		return fieldSpans{{from: []byte{first}, to: after}}
	case "$gt":
		return fieldSpans{{from: after, to: []byte{last}}}
	case "$gte":
		return fieldSpans{{from: at, to: []byte{last}}}
	}
	return nil
}

// isComparable reports whether a comparison with a value corresponds to a range in the order of keys.
func (r filterReader) isComparable(v bson.RawValue) bool {
	switch v.Type {
	case bson.TypeArray, bson.TypeUndefined, bson.TypeRegex, 0:
		return false
	case bson.TypeString, bson.TypeSymbol, bson.TypeEmbeddedDocument:
		return r.simpleCollation
	}
	return true
}

func (r filterReader) equalSpans(v bson.RawValue, hashed bool) fieldSpans {
	if !r.isComparable(v) {
		return nil
	}
	var at []byte
	if hashed {
		at = keyorder.AppendInt64(nil, keyorder.Hash(v))
	} else {
		at = keyorder.Append(nil, v)
	}
	return fieldSpans{{from: at, to: append(slices.Clone(at), aboveAll), point: true}}
}

func (r filterReader) inSpans(v bson.RawValue, hashed bool) fieldSpans {
	array, _ := v.ArrayOK()
	values, err := array.Values()
	if err != nil || len(values) > maxRanges {
		return nil
	}
	all := fieldSpans{}
	for _, v := range values {
		one := r.equalSpans(v, hashed)
		if one == nil {
			return nil
		}
		all = append(all, one...)
	}
	slices.SortFunc(all, func(a, b span) int { return bytes.Compare(a.from, b.from) })
	return slices.CompactFunc(all, func(a, b span) bool { return bytes.Equal(a.from, b.from) })
}

// prefixSpans returns the span of the strings with the prefix of a regular expression.
func (r filterReader) prefixSpans(v bson.RawValue, hashed bool) fieldSpans {
	pattern, options, isRegex := v.RegexOK()
	if !isRegex {
		pattern, _ = v.StringValueOK()
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || hashed || !r.simpleCollation || options != "" || parsed.Op != syntax.OpConcat ||
		len(parsed.Sub) < 2 || parsed.Sub[0].Op != syntax.OpBeginText ||
		parsed.Sub[1].Op != syntax.OpLiteral || parsed.Sub[1].Flags&syntax.FoldCase != 0 {
		return nil
	}
	text := string(parsed.Sub[1].Rune)
	at := keyorder.Append(nil, stringValue(text))
	after := keyorder.Append(nil, stringValue(text+"\U0010ffff"))
	return fieldSpans{{from: at, to: after}}
}

func stringValue(text string) bson.RawValue {
	t, value, _ := bson.MarshalValue(text)
	return bson.RawValue{Type: t, Value: value}
}

// intersect returns the intersection of two sets of spans; nil is the set of all values.
func intersect(a, b fieldSpans) fieldSpans {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := fieldSpans{}
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

// keyRanges combines the spans of the fields into key ranges: the fields that are compared with single
// values, and the first field after them.
func (r filterReader) keyRanges(known []fieldSpans) []Range {
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
			return appendSpans(prefixes, b)
		}
		var longer [][]byte
		for _, prefix := range prefixes {
			for _, s := range b {
				longer = append(longer, slices.Concat(prefix, s.from))
			}
		}
		prefixes = longer
		if i == len(known)-1 {
			return prefixRanges(prefixes)
		}
	}
	return prefixRanges(prefixes)
}

func appendSpans(prefixes [][]byte, b fieldSpans) []Range {
	list := []Range{}
	for _, prefix := range prefixes {
		for _, s := range b {
			list = append(list,
				Range{catalog.KeyFromBytes(slices.Concat(prefix, s.from)), catalog.KeyFromBytes(slices.Concat(prefix, s.to))})
		}
	}
	return list
}

// prefixRanges returns the ranges of all keys with these prefixes.
func prefixRanges(prefixes [][]byte) []Range {
	list := []Range{}
	for _, prefix := range prefixes {
		list = append(list, Range{catalog.KeyFromBytes(prefix), catalog.KeyFromBytes(append(slices.Clone(prefix), aboveAll))})
	}
	return list
}
