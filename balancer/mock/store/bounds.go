package store

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/value"
)

// boundary is a bound of a keyInterval.
type boundary struct {
	key      []byte // the encoded value
	value    value.Value
	included bool
}

// keyInterval is an interval of values in index order.
type keyInterval struct{ low, high boundary }

// bounds are the values of one index field that a scan reads: ascending intervals that do not overlap.
type bounds []keyInterval

func boundaryOf(v value.Value, included bool) boundary {
	return boundary{keyorder.Append(nil, v), v, included}
}

func boundText(v value.Value) string {
	f := value.DoubleAt(v.Value)
	switch {
	case v.Type != bson.TypeDouble:
	case math.IsNaN(f):
		return "nan.0"
	case math.IsInf(f, 1):
		return "inf.0"
	case math.IsInf(f, -1):
		return "-inf.0"
	}
	return document.Text(v)
}

// String returns the interval in the format of explain: [1, 5).
func (i keyInterval) String() string {
	return leftBracket(i.low.included) + boundText(i.low.value) + ", " + boundText(i.high.value) +
		rightBracket(i.high.included)
}

// reversedString returns the interval as explain shows it for a descending scan.
func (i keyInterval) reversedString() string {
	return leftBracket(i.high.included) + boundText(i.high.value) + ", " + boundText(i.low.value) +
		rightBracket(i.low.included)
}

func leftBracket(included bool) string {
	if included {
		return "["
	}
	return "("
}

func rightBracket(included bool) string {
	if included {
		return "]"
	}
	return ")"
}

func minKeyValue() value.Value { return value.Value{Type: bson.TypeMinKey} }
func maxKeyValue() value.Value { return value.Value{Type: bson.TypeMaxKey} }

// everyValue are the bounds of an unconstrained field. They must not be
// changed.
var everyValue = bounds{{boundaryOf(minKeyValue(), true), boundaryOf(maxKeyValue(), true)}}

func pointBounds(v value.Value) bounds {
	b := boundaryOf(v, true)
	return bounds{{b, b}}
}

func (i keyInterval) isPoint() bool {
	return i.low.included && i.high.included && bytes.Equal(i.low.key, i.high.key)
}

// isOnePoint reports whether the bounds are a single value.
func (b bounds) isOnePoint() bool { return len(b) == 1 && b[0].isPoint() }

func (b bounds) areAllPoints() bool {
	return !slices.ContainsFunc(b, func(i keyInterval) bool { return !i.isPoint() })
}

func (b bounds) isUnbounded() bool {
	all := everyValue[0]
	return len(b) == 1 && bytes.Equal(b[0].low.key, all.low.key) && bytes.Equal(b[0].high.key, all.high.key) &&
		b[0].low.included && b[0].high.included
}

// contains reports whether an encoded value lies in the bounds.
func (b bounds) contains(key []byte) bool {
	// The first interval that does not end before the key.
	at, _ := slices.BinarySearchFunc(b, key, func(i keyInterval, key []byte) int {
		if c := bytes.Compare(i.high.key, key); c < 0 || c == 0 && !i.high.included {
			return -1
		}
		return 1
	})
	if at == len(b) {
		return false
	}
	low := bytes.Compare(key, b[at].low.key)
	return low > 0 || low == 0 && b[at].low.included
}

// maxLow returns the greater lower bound. An excluded bound is greater than an included bound of the
// same value.
func maxLow(a, b boundary) boundary {
	if c := bytes.Compare(a.key, b.key); c > 0 || c == 0 && !a.included {
		return a
	}
	return b
}

func minHigh(a, b boundary) boundary {
	if c := bytes.Compare(a.key, b.key); c < 0 || c == 0 && !a.included {
		return a
	}
	return b
}

func (i keyInterval) isEmpty() bool {
	c := bytes.Compare(i.low.key, i.high.key)
	return c > 0 || c == 0 && !(i.low.included && i.high.included)
}

// intersect returns the values in both b and o.
func (b bounds) intersect(o bounds) bounds {
	out := bounds{}
	for i, j := 0, 0; i < len(b) && j < len(o); {
		both := keyInterval{maxLow(b[i].low, o[j].low), minHigh(b[i].high, o[j].high)}
		if !both.isEmpty() {
			out = append(out, both)
		}
		c := bytes.Compare(b[i].high.key, o[j].high.key)
		if c < 0 || c == 0 && !b[i].high.included {
			i++
		} else {
			j++
		}
	}
	return out
}

// intersectAll returns the intersection of a list. It works pairwise; otherwise every step would read
// the whole intermediate result again.
func intersectAll(list []bounds) bounds {
	switch n := len(list); n {
	case 0:
		return everyValue
	case 1:
		return list[0]
	default:
		return intersectAll(list[:n/2]).intersect(intersectAll(list[n/2:]))
	}
}

// union returns the values in b or o.
func (b bounds) union(o bounds) bounds { return mergeIntervals(slices.Concat(b, o)) }

// mergeIntervals returns intervals in any order as bounds.
func mergeIntervals(all bounds) bounds {
	slices.SortStableFunc(all, func(x, y keyInterval) int {
		if c := bytes.Compare(x.low.key, y.low.key); c != 0 {
			return c
		}
		switch {
		case x.low.included == y.low.included:
			return 0
		case x.low.included:
			return -1
		}
		return 1
	})
	var out bounds
	for _, i := range all {
		if len(out) > 0 && out[len(out)-1].touches(i) {
			last := &out[len(out)-1]
			if c := bytes.Compare(i.high.key, last.high.key); c > 0 || c == 0 && i.high.included {
				last.high = i.high
			}
			continue
		}
		out = append(out, i)
	}
	return out
}

// touches reports whether there is no gap between the interval and a later one.
func (i keyInterval) touches(later keyInterval) bool {
	c := bytes.Compare(later.low.key, i.high.key)
	return c < 0 || c == 0 && (later.low.included || i.high.included)
}

// complement returns all other values.
func (b bounds) complement() bounds {
	out := bounds{}
	low := boundaryOf(minKeyValue(), true)
	for _, i := range b {
		high := i.low
		high.included = !high.included
		if gap := (keyInterval{low, high}); !gap.isEmpty() {
			out = append(out, gap)
		}
		low = i.high
		low.included = !low.included
	}
	if gap := (keyInterval{low, boundaryOf(maxKeyValue(), true)}); !gap.isEmpty() {
		out = append(out, gap)
	}
	return out
}

// isSubsetOf reports whether all of b lies in o.
func (b bounds) isSubsetOf(o bounds) bool { return len(b.intersect(o.complement())) == 0 }

// hashedBounds returns the bounds of equality conditions on a hashed field.
func hashedBounds(c filter.Clause) (bounds, bool) {
	var list []value.Value
	switch c.Op {
	case "$eq":
		list = []value.Value{c.Arg}
	case "$in":
		list = document.Items(c.Arg)
	default:
		return nil, false
	}
	var out bounds
	for _, v := range list {
		if v.Type == bson.TypeRegex || value.IsArray(v) || v.Type == bson.TypeUndefined {
			return nil, false
		}
		b := boundary{keyorder.AppendInt64(nil, keyorder.Hash(v)), value.Int64(keyorder.Hash(v)), true}
		out = append(out, keyInterval{b, b})
	}
	return mergeIntervals(out), true
}

// boundsOf returns the index values of the documents that match a clause. exact reports whether all
// documents with such values match. ok is false if an index does not help.
func boundsOf(c filter.Clause) (b bounds, exact, ok bool) {
	switch c.Op {
	case "$eq":
		return equalBounds(c.Arg)
	case "$lt", "$lte", "$gt", "$gte":
		return rangeBounds(c.Op, c.Arg)
	case "$in":
		exact = true
		for _, v := range document.Items(c.Arg) {
			one, oneExact, _ := equalBounds(v)
			if v.Type == bson.TypeRegex {
				one, oneExact = regexBounds(v), false
			}
			b, exact = append(b, one...), exact && oneExact
		}
		return mergeIntervals(b), exact, true
	case "$regex":
		return regexBounds(c.Arg), false, true
	case "$exists":
		return everyValue, false, true
	case "$mod":
		return bounds{{boundaryOf(value.Double(math.NaN()), true), boundaryOf(value.Double(math.Inf(1)), true)}}, false, true
	case "$not":
		return negatedBounds(c.Path, c.Arg)
	case "$elemMatch":
		return elementBounds(c.Path, c.Arg)
	}
	return nil, false, false
}

func equalBounds(v value.Value) (b bounds, exact, ok bool) {
	switch {
	case value.IsNullish(v):
		// Missing counts as null, and so does undefined in an empty array.
		return pointBounds(value.Value{Type: bson.TypeUndefined}).union(pointBounds(value.Null())), false, true
	case value.IsArray(v):
		inside := value.Value{Type: bson.TypeUndefined}
		if list := document.Items(v); len(list) > 0 {
			inside = list[0]
		}
		return pointBounds(inside).union(pointBounds(v)), false, true
	}
	return pointBounds(v), true, true
}

// rangeBounds returns the bounds of a comparison, within the type of its operand.
func rangeBounds(op string, v value.Value) (b bounds, exact, ok bool) {
	if v.Type == bson.TypeMinKey || v.Type == bson.TypeMaxKey {
		b = clipInterval(everyValue[0], op, v)
		return b, len(b) == 0, true
	}
	if value.IsNullish(v) || value.IsNaN(v) {
		if op == "$lt" || op == "$gt" {
			return bounds{}, true, true
		}
		return equalBounds(v)
	}
	i, ok := typeInterval(v)
	if !ok {
		return everyValue, false, true
	}
	return clipInterval(i, op, v), true, true
}

// clipInterval returns the part of an interval that satisfies a comparison.
func clipInterval(i keyInterval, op string, v value.Value) bounds {
	switch op {
	case "$lt", "$lte":
		i.high = boundaryOf(v, op == "$lte")
	default:
		i.low = boundaryOf(v, op == "$gte")
	}
	if i.isEmpty() {
		return bounds{}
	}
	return bounds{i}
}

// typeInterval returns the interval of all values that are comparable with v.
func typeInterval(v value.Value) (keyInterval, bool) {
	between := func(low, high value.Value, included bool) (keyInterval, bool) {
		return keyInterval{boundaryOf(low, true), boundaryOf(high, included)}, true
	}
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		return between(value.Double(math.Inf(-1)), value.Double(math.Inf(1)), true)
	case bson.TypeString, bson.TypeSymbol:
		return between(value.String(""), value.Object(document.Empty), false)
	case bson.TypeEmbeddedDocument:
		return between(value.Object(document.Empty), value.Array(document.Empty), false)
	case bson.TypeBoolean:
		return between(value.Bool(false), value.Bool(true), true)
	case bson.TypeDateTime:
		return between(value.Date(math.MinInt64), value.Date(math.MaxInt64), true)
	case bson.TypeTimestamp:
		return between(value.Timestamp(0, 0), value.Timestamp(math.MaxUint32, math.MaxUint32), true)
	case bson.TypeObjectID:
		var last bson.ObjectID
		for i := range last {
			last[i] = 0xff
		}
		return between(value.ObjectID(bson.ObjectID{}), value.ObjectID(last), true)
	}
	return keyInterval{}, false
}

// regexBounds returns the bounds of a pattern. A constant prefix limits the strings. A stored regular
// expression equal to the pattern matches too.
func regexBounds(v value.Value) bounds {
	pattern, options := value.RegexAt(v.Value)
	low, high := boundaryOf(value.String(""), true), boundaryOf(value.Object(document.Empty), false)
	if prefix := fixedPrefix(pattern, options); prefix != "" {
		low = boundaryOf(value.String(prefix), true)
		if above := []byte(prefix); above[len(above)-1] < 0x7f {
			above[len(above)-1]++
			high = boundaryOf(value.String(string(above)), false)
		}
	}
	return bounds{{low, high}}.union(pointBounds(v))
}

// fixedPrefix returns the constant prefix of all matches of a pattern.
func fixedPrefix(pattern, options string) string {
	rest, ok := strings.CutPrefix(pattern, "^")
	if !ok || options != "" || strings.Contains(pattern, "|") {
		return ""
	}
	n := strings.IndexAny(rest, `\.[]{}()*+?^$`)
	if n < 0 {
		return rest
	}
	if strings.IndexByte("*?{", rest[n]) >= 0 {
		n-- // the character before may be absent
	}
	prefix := rest[:max(n, 0)]
	if strings.ContainsFunc(prefix, func(r rune) bool { return r > 0x7f }) {
		return "" // the cut could be in the middle of a character
	}
	return prefix
}

// negatedBounds returns the bounds of $not of a single operator. Arrays have further values in the
// index, so documents with arrays must be fetched.
func negatedBounds(path string, arg value.Value) (b bounds, exact, ok bool) {
	if !value.IsObject(arg) {
		return nil, false, false
	}
	inner := filter.PathClauses(path, arg)
	if len(inner) != 1 {
		return nil, false, false
	}
	if c := inner[0]; c.Op == "$exists" {
		return pointBounds(value.Value{Type: bson.TypeUndefined}).union(pointBounds(value.Null())), false, true
	}
	if value.IsNullish(inner[0].Arg) && inner[0].Op == "$eq" {
		return pointBounds(value.Null()).complement(), false, true
	}
	b, exact, ok = boundsOf(inner[0])
	if !ok || !exact {
		return nil, false, false
	}
	return b.complement(), false, true
}

// elementBounds returns the bounds of an $elemMatch on values, such as {$elemMatch: {$gt: 1, $lt: 5}}.
func elementBounds(path string, arg value.Value) (b bounds, exact, ok bool) {
	op, _, _ := document.FirstField(arg.Value)
	if !filter.IsComparison(op) && op != "$in" {
		return nil, false, false
	}
	var all []bounds
	for _, c := range filter.PathClauses(path, arg) {
		one, _, oneOK := boundsOf(c)
		if value.IsArray(c.Arg) || value.IsNullish(c.Arg) || !oneOK {
			continue
		}
		all = append(all, one)
	}
	return intersectAll(all), false, len(all) > 0
}
