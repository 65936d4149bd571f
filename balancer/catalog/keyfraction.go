package catalog

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Fraction returns the relative position of a key between two bounds, from 0 to 1, by the first field
// in which the bounds differ; 0.5 if the position is not known. Numbers, dates, strings, ObjectIds and
// binary data are evenly distributed between closed bounds. The density of numbers decreases towards
// MinKey and MaxKey.
func (p KeyPattern) Fraction(lower, upper, key Key) float64 {
	l, at, ok := p.lineOf(lower, upper)
	if !ok {
		return 0.5
	}
	switch v := p.values(key)[at]; v.Type {
	case bson.TypeMinKey:
		return 0
	case bson.TypeMaxKey:
		return 1
	default:
		n, ok := l.scale.toFloat(v)
		if !ok {
			return 0.5
		}
		return math.Min(1, math.Max(0, l.fraction(n)))
	}
}

// KeyAtFraction returns the key at a relative position between two bounds. It is the inverse of Fraction, and
// returns a value of the bounds' type, or for numbers of another numeric type. It returns false if there
// is no such key strictly between the bounds, or if values of their types have no distance.
func (p KeyPattern) KeyAtFraction(lower, upper Key, f float64) (Key, bool) {
	l, at, ok := p.lineOf(lower, upper)
	if !ok {
		return Key{}, false
	}
	values := p.values(lower)
	bound := bson.D{}
	for i, name := range p.Fields() {
		switch {
		case i < at:
			bound = append(bound, bson.E{Key: name, Value: values[i]})
		case i == at:
			bound = append(bound, bson.E{Key: name, Value: l.scale.fromFloat(l.at(f))})
		default:
			bound = append(bound, bson.E{Key: name, Value: bson.MinKey{}})
		}
	}
	raw, err := bson.Marshal(bound)
	if err != nil {
		return Key{}, false
	}
	key, err := p.ParseKey(raw)
	if err != nil || key.Compare(lower) <= 0 || key.Compare(upper) >= 0 {
		return Key{}, false
	}
	return key, true
}

// keyLine maps keys to a range of numbers.
type keyLine struct {
	lo, hi         float64
	openLo, openHi bool
	scale          keyScale
}

// openHalfLength is the distance from the closed end within which half of an open line lies. It is the same for
// all types: for dates it is 17 minutes.
const openHalfLength = 1e6

func (l keyLine) fraction(at float64) float64 {
	switch {
	case l.openLo && l.openHi:
		return 0.5 + math.Atan(at/openHalfLength)/math.Pi
	case l.openLo:
		return openHalfLength / (openHalfLength + l.hi - at)
	case l.openHi:
		return (at - l.lo) / (openHalfLength + at - l.lo)
	}
	return (at - l.lo) / (l.hi - l.lo)
}

// at returns the inverse of fraction.
func (l keyLine) at(f float64) float64 {
	f = math.Min(1-1e-9, math.Max(1e-9, f))
	switch {
	case l.openLo && l.openHi:
		return openHalfLength * math.Tan((f-0.5)*math.Pi)
	case l.openLo:
		return l.hi - openHalfLength*(1/f-1)
	case l.openHi:
		return l.lo + openHalfLength*f/(1-f)
	}
	return l.lo + (l.hi-l.lo)*f
}

// lineOf maps two bounds to a line by the first field in which they differ, and returns the index of
// that field. It returns false if values of the field's types have no distance.
func (p KeyPattern) lineOf(lower, upper Key) (l keyLine, at int, ok bool) {
	below, above := p.values(lower), p.values(upper)
	for at = range below {
		lo, hi := below[at], above[at]
		if lo.Equal(hi) {
			continue
		}
		l.openLo, l.openHi = lo.Type == bson.TypeMinKey, hi.Type == bson.TypeMaxKey
		l.scale = scaleOf(lo, hi, p.HashedField() == at)
		switch {
		case p.HashedField() == at: // hashes cover the whole range of 64 bits
			l.lo, l.hi = math.MinInt64, math.MaxInt64
		case l.scale.digits > 0: // all byte strings are between the smallest and the greatest one
			l.lo, l.hi = 0, l.scale.maxNumber()
		}
		if l.scale.isBounded() {
			l.openLo, l.openHi = false, false
		}
		okLo, okHi := lo.Type == bson.TypeMinKey, hi.Type == bson.TypeMaxKey
		if !okLo {
			l.lo, okLo = l.scale.toFloat(lo)
		}
		if !okHi {
			l.hi, okHi = l.scale.toFloat(hi)
		}
		return l, at, okLo && okHi && (l.openLo || l.openHi || l.lo < l.hi)
	}
	return keyLine{}, 0, false
}

// keyScale converts values of one type to numbers and back.
type keyScale struct {
	sample bson.RawValue
	hashed bool

	// For byte strings: the common prefix of all values between the bounds, and the number of bytes
	// after it that count, as digits from first on in the radix.
	prefix    []byte
	digits    int
	zeroDigit byte
	radix     float64
}

// maxFloatBytes is the number of bytes that a float64 can distinguish.
const maxFloatBytes = 6

func scaleOf(lo, hi bson.RawValue, hashed bool) keyScale {
	s := keyScale{sample: lo, hashed: hashed}
	if lo.Type == bson.TypeMinKey {
		s.sample = hi
	}
	if hashed {
		return s
	}
	if _, ok := valueBytes(s.sample); !ok {
		return s
	}
	s.digits, s.radix = maxFloatBytes, 256
	if s.sample.Type == bson.TypeString {
		s.zeroDigit, s.radix = ' ', '~'-' '+1 // printable characters
	}
	a, okA := valueBytes(lo)
	b, okB := valueBytes(hi)
	if okA && okB {
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		s.prefix = a[:n]
	}
	return s
}

func valueBytes(v bson.RawValue) ([]byte, bool) {
	switch v.Type {
	case bson.TypeString:
		text, ok := v.StringValueOK()
		return []byte(text), ok
	case bson.TypeObjectID:
		id, ok := v.ObjectIDOK()
		return id[:], ok
	case bson.TypeBinary:
		_, data, ok := v.BinaryOK()
		return data, ok
	}
	return nil, false
}

// isBounded reports whether the type has a smallest and a greatest value, so that no bound is open.
func (s keyScale) isBounded() bool { return s.hashed || s.digits > 0 }

func (s keyScale) maxNumber() float64 { return math.Pow(s.radix, float64(s.digits)) }

func (s keyScale) toFloat(v bson.RawValue) (float64, bool) {
	if s.digits > 0 {
		return s.digitsOf(v)
	}
	if v.Type == bson.TypeDateTime {
		return float64(v.DateTime()), true
	}
	return v.AsFloat64OK()
}

func (s keyScale) digitsOf(v bson.RawValue) (n float64, ok bool) {
	if v.Type != s.sample.Type {
		return 0, false
	}
	data, ok := valueBytes(v)
	if !ok || len(data) < len(s.prefix) {
		return 0, false
	}
	data = data[len(s.prefix):]
	for i := range s.digits {
		n *= s.radix
		if i < len(data) {
			n += math.Min(s.radix-1, math.Max(0, float64(data[i])-float64(s.zeroDigit)))
		}
	}
	return n, true
}

// fromFloat returns a number in the type of the sample.
func (s keyScale) fromFloat(x float64) any {
	if s.digits > 0 {
		return s.bytesOf(x)
	}
	switch {
	case s.hashed || s.sample.Type == bson.TypeInt64:
		return int64(x)
	case s.sample.Type == bson.TypeDateTime:
		return bson.DateTime(int64(x))
	case s.sample.Type == bson.TypeDouble:
		return x
	case math.Abs(x) < math.MaxInt32:
		return int32(x)
	}
	return int64(x)
}

func (s keyScale) bytesOf(x float64) any {
	tail := make([]byte, s.digits)
	for i := s.digits - 1; i >= 0; i-- {
		rest := math.Mod(x, s.radix)
		tail[i] = s.zeroDigit + byte(rest)
		x = (x - rest) / s.radix
	}
	data := append(append([]byte(nil), s.prefix...), tail...)
	switch s.sample.Type {
	case bson.TypeObjectID:
		var id bson.ObjectID
		copy(id[:], data)
		return id
	case bson.TypeBinary:
		subtype, sample, _ := s.sample.BinaryOK()
		sized := make([]byte, max(len(sample), len(s.prefix)+1))
		copy(sized, data)
		return bson.Binary{Subtype: subtype, Data: sized}
	}
	return string(data)
}

// values returns the values of a key's fields.
func (p KeyPattern) values(k Key) []bson.RawValue {
	values, err := p.Bound(k).Values()
	if err != nil {
		return nil
	}
	return values
}
