package keyorder

import (
	"bytes"
	"cmp"
	"math"
	"math/big"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Compare orders two values: -1, 0 or 1 (rules/03-catalog-and-keys §4.4). Values of different
// numeric types compare by their exact value.
func Compare(a, b bson.RawValue) int { return compareAt(a, b, 0) }

// CompareDocuments orders two documents as embedded objects, element by element. Elements compare first
// by the rank of the type, then by name, then by value. A document that is a prefix of the other is
// smaller.
func CompareDocuments(a, b bson.Raw) int { return compareDocuments(a, b, true, 0) }

func compareAt(a, b bson.RawValue, depth int) int {
	if c := cmp.Compare(Rank(a.Type), Rank(b.Type)); c != 0 {
		return c
	}
	x, y := a.Value, b.Value
	switch a.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		return compareNumbers(a, b)
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		return bytes.Compare(stringContent(x), stringContent(y))
	case bson.TypeEmbeddedDocument:
		return compareDocuments(x, y, true, depth+1)
	case bson.TypeArray:
		return compareDocuments(x, y, false, depth+1)
	case bson.TypeBinary:
		s, p := binaryParts(x)
		t, q := binaryParts(y)
		return cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(s, t), bytes.Compare(p, q))
	case bson.TypeObjectID:
		return bytes.Compare(padTo(x, 12), padTo(y, 12))
	case bson.TypeBoolean:
		return cmp.Compare(min(padTo(x, 1)[0], 1), min(padTo(y, 1)[0], 1))
	case bson.TypeDateTime:
		return cmp.Compare(int64(uint64At(x)), int64(uint64At(y)))
	case bson.TypeTimestamp:
		return cmp.Compare(uint64At(x), uint64At(y))
	case bson.TypeRegex:
		p, f := regexParts(x)
		q, g := regexParts(y)
		return cmp.Or(bytes.Compare(p, q), bytes.Compare(f, g))
	case bson.TypeDBPointer:
		p, i := pointerParts(x)
		q, j := pointerParts(y)
		return cmp.Or(cmp.Compare(len(p), len(q)), bytes.Compare(p, q), bytes.Compare(i, j))
	case bson.TypeCodeWithScope:
		p, s := scopeParts(x)
		q, t := scopeParts(y)
		if c := bytes.Compare(p, q); c != 0 {
			return c
		}
		return compareDocuments(s, t, true, depth+1)
	}
	return 0
}

// compareDocuments compares two documents element by element. In arrays, the names are positions and
// equal.
func compareDocuments(a, b []byte, names bool, depth int) int {
	if depth > maxDepth {
		return 0
	}
	x, y := Body(a), Body(b)
	for {
		e, restX, okX := Next(x)
		f, restY, okY := Next(y)
		switch {
		case !okX && !okY:
			return 0
		case !okX:
			return -1
		case !okY:
			return 1
		}
		if c := cmp.Compare(Rank(e.Value.Type), Rank(f.Value.Type)); c != 0 {
			return c
		}
		if names {
			if c := bytes.Compare(e.Name, f.Name); c != 0 {
				return c
			}
		}
		if c := compareAt(e.Value, f.Value, depth); c != 0 {
			return c
		}
		x, y = restX, restY
	}
}

// compareNumbers puts NaN first, then -Inf, the finite numbers by exact value,
// and +Inf.
func compareNumbers(a, b bson.RawValue) int {
	x, xInt := toInt64(a)
	y, yInt := toInt64(b)
	if xInt && yInt {
		return cmp.Compare(x, y)
	}
	if a.Type == bson.TypeDouble && b.Type == bson.TypeDouble {
		return cmp.Compare(math.Float64frombits(uint64At(a.Value)), math.Float64frombits(uint64At(b.Value)))
	}
	p, q := specialRank(a), specialRank(b)
	if p != finite || q != finite {
		return cmp.Compare(p, q)
	}
	return toRat(a).Cmp(toRat(b))
}

func toInt64(v bson.RawValue) (int64, bool) {
	switch v.Type {
	case bson.TypeInt32:
		return int64(int32(uint32At(v.Value))), true
	case bson.TypeInt64:
		return int64(uint64At(v.Value)), true
	}
	return 0, false
}

// The classes of numbers, in order; only finite ones compare by value.
const (
	nan = iota
	negativeInfinity
	finite
	positiveInfinity
)

func specialRank(v bson.RawValue) int {
	switch v.Type {
	case bson.TypeDouble:
		f := math.Float64frombits(uint64At(v.Value))
		switch {
		case math.IsNaN(f):
			return nan
		case math.IsInf(f, -1):
			return negativeInfinity
		case math.IsInf(f, 1):
			return positiveInfinity
		}
	case bson.TypeDecimal128:
		d := decimalOf(v.Value)
		switch {
		case d.nan:
			return nan
		case d.infinite && d.negative:
			return negativeInfinity
		case d.infinite:
			return positiveInfinity
		}
	}
	return finite
}

// toRat returns a finite number as a fraction.
func toRat(v bson.RawValue) *big.Rat {
	r := new(big.Rat)
	if i, ok := toInt64(v); ok {
		return r.SetInt64(i)
	}
	if v.Type == bson.TypeDouble {
		return r.SetFloat64(math.Float64frombits(uint64At(v.Value)))
	}
	d := decimalOf(v.Value)
	r.SetInt(d.coefficient())
	scale := new(big.Rat).SetInt(PowerOfTen(max(d.exponent, -d.exponent)))
	if d.exponent < 0 {
		r.Quo(r, scale)
	} else {
		r.Mul(r, scale)
	}
	if d.negative {
		r.Neg(r)
	}
	return r
}
