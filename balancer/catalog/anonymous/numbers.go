package anonymous

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// number is a number of any numeric type: its sign, the integer part, and the digits after the point
// without trailing zeros.
type number struct {
	negative bool
	whole    uint64
	fraction string
}

func wholeNumber(n int64) number {
	if n < 0 {
		return number{negative: true, whole: -uint64(n)}
	}
	return number{whole: uint64(n)}
}

func (n number) int64() int64 {
	if n.negative {
		return -int64(n.whole)
	}
	return int64(n.whole)
}

// maxExactDouble is the limit above which doubles skip integers. doubleStep is the distance of adjacent
// doubles up to the largest number that is replaced.
const (
	maxExactDouble = 1 << 53
	doubleStep     = 1 << 11
)

// numberOf returns a numeric value. It returns false for a value that is not numeric, is infinite, or
// needs more than 64 bits.
func numberOf(v bson.RawValue) (number, bool) {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64:
		return wholeNumber(v.AsInt64()), true
	case bson.TypeDouble:
		f := v.Double()
		if math.IsNaN(f) || math.Abs(f) >= 1<<63 {
			return number{}, false
		}
		return parseNumber(new(big.Float).SetFloat64(f).Text('f', 1074))
	}
	digits, exponent, err := v.Decimal128().BigInt()
	if err != nil || digits.Sign() != 0 && exponent > 20 {
		return number{}, false
	}
	return parseNumber(decimalText(digits, min(exponent, 20)))
}

// decimalText returns digits·10^exponent without an exponent.
func decimalText(digits *big.Int, exponent int) string {
	text := new(big.Int).Abs(digits).String()
	sign := ""
	if digits.Sign() < 0 {
		sign = "-"
	}
	if exponent >= 0 {
		return sign + text + strings.Repeat("0", exponent)
	}
	if missing := 1 - exponent - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	point := len(text) + exponent
	return sign + text[:point] + "." + text[point:]
}

func parseNumber(text string) (number, bool) {
	text, negative := strings.CutPrefix(text, "-")
	before, after, _ := strings.Cut(text, ".")
	before = cmp.Or(strings.TrimLeft(before, "0"), "0")
	n := number{negative: negative, fraction: strings.TrimRight(after, "0")}
	var err error
	n.whole, err = strconv.ParseUint(before, 10, 64)
	if n.whole == 0 && n.fraction == "" {
		n.negative = false
	}
	return n, err == nil && n.whole < 1<<63
}

// toBSON returns the number in one of the numeric types.
func (n number) toBSON(t bson.Type) (bson.RawValue, error) {
	v := bson.RawValue{Type: t}
	switch t {
	case bson.TypeInt32:
		v.Value = binary.LittleEndian.AppendUint32(nil, uint32(n.int64()))
		return v, nil
	case bson.TypeInt64:
		v.Value = bsoncore.AppendInt64(nil, n.int64())
		return v, nil
	}
	if t == bson.TypeDouble {
		f, err := strconv.ParseFloat(n.text(), 64)
		v.Value = bsoncore.AppendDouble(nil, f)
		return v, err
	}
	d, err := bson.ParseDecimal128(n.text())
	high, low := d.GetBytes()
	v.Value = bsoncore.AppendDecimal128(nil, high, low)
	return v, err
}

func (n number) text() string {
	text := strconv.FormatUint(n.whole, 10)
	if n.fraction != "" {
		text += "." + n.fraction
	}
	if n.negative {
		text = "-" + text
	}
	return text
}

// maskNumbers returns a replacement for each number of a set, with the same sign and the same number of
// digits before the point, in the same order. Zero is kept.
func maskNumbers(all set[number], random *rand.Rand) map[number]number {
	done := make(map[number]number, len(all))
	for _, negative := range []bool{false, true} {
		var list []number
		for n := range all {
			if n.negative == negative {
				list = append(list, n)
			}
		}
		slices.SortFunc(list, func(a, b number) int {
			return cmp.Or(cmp.Compare(a.whole, b.whole), strings.Compare(a.fraction, b.fraction))
		})
		maskWholes(list, done, random)
	}
	return done
}

// maskWholes masks the integer parts of sorted numbers with the same sign.
func maskWholes(list []number, done map[number]number, random *rand.Rand) {
	for len(list) > 0 {
		c := replacementRangeOf(list[0].whole)
		n := 1
		for n < len(list) && list[n].whole <= c.last {
			n++
		}
		var groups [][]number // by integer part
		for _, one := range list[:n] {
			if last := len(groups) - 1; last >= 0 && groups[last][0].whole == one.whole {
				groups[last] = append(groups[last], one)
			} else {
				groups = append(groups, []number{one})
			}
		}
		doubles := make([]int, len(groups))
		for i, group := range groups {
			// Above, doubles are too far apart for the fractions.
			if doubles[i] = countDoubles(group); doubles[i] > 0 {
				c.last = min(c.last, 1<<(doublePrecision-bits.Len(uint(doubles[i])))-1)
			}
		}
		for i, whole := range c.ascending(len(groups), random) {
			maskFractions(groups[i], doubles[i], whole, done, random)
		}
		list = list[n:]
	}
}

// maskFractions masks numbers with equal integer parts. Those that doubles represent get fractions that
// doubles represent, too, so that they stay distinct; those between them get more digits. doubles is the number
// of fractions that doubles represent.
func maskFractions(list []number, doubles int, whole uint64, done map[number]number, random *rand.Rand) {
	parts := list
	if len(list) > 0 && list[0].fraction == "" {
		done[list[0]] = number{negative: list[0].negative, whole: whole}
		parts = list[1:]
	}
	precision := min(bits.Len64(10*uint64(doubles)), doublePrecision-bits.Len64(whole))
	chosen := ascending((1<<max(precision, 0))-1, doubles, random)
	before := binaryFraction(0, precision)
	for len(parts) > 0 {
		n := parts[0]
		if n.isDouble() {
			before, chosen = binaryFraction(chosen[0]+1, precision), chosen[1:]
			done[n] = number{negative: n.negative, whole: whole, fraction: before}
			parts = parts[1:]
			continue
		}
		between := slices.IndexFunc(parts, number.isDouble)
		if between < 0 {
			between = len(parts)
		}
		digits, room := 1, uint64(10)
		for room-1 < 10*uint64(between) {
			digits, room = digits+1, room*10
		}
		for i, more := range ascending(room-1, between, random) {
			fraction := fmt.Sprintf("%s%0*d", before, digits, more+1)
			done[parts[i]] = number{negative: n.negative, whole: whole, fraction: fraction}
		}
		parts = parts[between:]
	}
}

// doublePrecision is the number of bits of a double's significand.
const doublePrecision = 53

// isDouble reports whether a double represents the number exactly.
func (n number) isDouble() bool {
	r, ok := new(big.Rat).SetString(n.text())
	if !ok {
		return false
	}
	_, exact := r.Float64()
	return exact
}

// countDoubles counts the numbers with a fraction that doubles represent.
func countDoubles(list []number) (count int) {
	for _, n := range list {
		if n.fraction != "" && n.isDouble() {
			count++
		}
	}
	return count
}

// binaryFraction returns the digits of n/2^precision after the point, one for each bit.
func binaryFraction(n uint64, precision int) string {
	if precision <= 0 {
		return ""
	}
	f := new(big.Rat).SetFrac(new(big.Int).SetUint64(n), new(big.Int).Lsh(big.NewInt(1), uint(precision)))
	return strings.TrimPrefix(f.FloatString(precision), "0.")
}

// replacementRange is a range of numbers that can replace each other: they have the same number of digits, and
// they all fit the same types.
type replacementRange struct{ first, last uint64 }

// ascending returns k numbers of the range in order. Large numbers are chosen such that doubles can
// represent them.
func (c replacementRange) ascending(k int, random *rand.Rand) []uint64 {
	first, apart := c.first, uint64(1)
	if c.first > maxExactDouble && c.first < c.last {
		first, apart = (c.first+doubleStep-1)/doubleStep*doubleStep, doubleStep
	}
	list := ascending((c.last-first)/apart+1, k, random)
	for i := range list {
		list[i] = first + list[i]*apart
	}
	return list
}

func replacementRangeOf(n uint64) replacementRange {
	c := replacementRange{first: 1, last: 9}
	for c.last < n {
		c.first = c.last + 1
		if c.first > math.MaxUint64/10 {
			c.last = math.MaxUint64
			break
		}
		c.last = c.first*10 - 1
	}
	if n == 0 {
		return replacementRange{0, 0}
	}
	for _, edge := range []uint64{math.MaxInt32, math.MaxInt32 + 1, maxExactDouble, math.MaxInt64, math.MaxInt64 + 1} {
		switch {
		case n <= edge:
			c.last = min(c.last, edge)
		default:
			c.first = max(c.first, edge+1)
		}
	}
	return c
}
