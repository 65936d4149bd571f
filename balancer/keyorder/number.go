package keyorder

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
)

// Numbers are encoded by magnitude, and for negative ones everything after the
// tag is inverted. The magnitude falls in one of three classes:
//
//	below 1         8 bytes: the double nearest towards zero, shifted left by
//	                one; the low bit says "more follows"
//	1 to 2^63       the integer part shifted left by one in as few bytes as it
//	                needs (their number is in the tag); the low bit says that a
//	                fraction follows: 52 bits in 7 bytes, whose lowest bit says
//	                "more follows"
//	2^63 and above  like below 1
//
// Integers and doubles always fit exactly. Only a decimal can have more: its
// exponent and all its digits, which decide among decimals between the same
// two doubles.

// AppendInt64 appends the encoding of an integer: 1 byte for zero, 2 to 9 for others.
func AppendInt64(dst []byte, n int64) []byte {
	switch {
	case n == 0:
		return append(dst, tagZero)
	case n == math.MinInt64:
		return appendDouble(dst, math.MinInt64)
	case n < 0:
		return appendInteger(dst, uint64(-n)<<1, true)
	}
	return appendInteger(dst, uint64(n)<<1, false)
}

// appendInteger writes the tag and the shifted integer part.
func appendInteger(dst []byte, shifted uint64, negative bool) []byte {
	size := (bits.Len64(shifted) + 7) / 8
	tag := uint8(tagPositiveInt + size - 1)
	if negative {
		tag = uint8(tagNegativeInt + 8 - size)
		shifted = ^shifted
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], shifted)
	return append(append(dst, tag), b[8-size:]...)
}

func appendDouble(dst []byte, f float64) []byte {
	switch {
	case f == 0:
		return append(dst, tagZero)
	case math.IsNaN(f):
		return append(dst, tagNaN)
	case math.IsInf(f, 1):
		return append(dst, tagPositiveInfinity)
	case math.IsInf(f, -1):
		return append(dst, tagNegativeInfinity)
	}
	negative := f < 0
	f = math.Abs(f)
	if f < 1 || f >= 1<<63 {
		return appendSmallOrLarge(dst, math.Float64bits(f), false, negative)
	}
	whole, fraction := math.Modf(f)
	return appendMixed(dst, uint64(whole), uint64(fraction*(1<<52)), false, negative)
}

// appendMixed writes a number with an integer part; fraction is in units of
// 2^-52.
func appendMixed(dst []byte, whole, fraction uint64, more, negative bool) []byte {
	if fraction == 0 && !more {
		return appendInteger(dst, whole<<1, negative)
	}
	dst = appendInteger(dst, whole<<1|1, negative)
	tail := fraction<<12 | bit(more)<<8
	if negative {
		tail = ^tail
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], tail)
	return append(dst, b[:7]...)
}

// appendSmallOrLarge writes a number outside the range of integer parts.
func appendSmallOrLarge(dst []byte, double uint64, more, negative bool) []byte {
	tag := uint8(tagPositiveSmall)
	large := double >= math.Float64bits(1<<63)
	switch {
	case large && negative:
		tag = tagNegativeLarge
	case large:
		tag = tagPositiveLarge
	case negative:
		tag = tagNegativeSmall
	}
	shifted := double<<1 | bit(more)
	if negative {
		shifted = ^shifted
	}
	return binary.BigEndian.AppendUint64(append(dst, tag), shifted)
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func appendDecimal(dst []byte, d decimal) []byte {
	switch {
	case d.nan:
		return append(dst, tagNaN)
	case d.infinite && d.negative:
		return append(dst, tagNegativeInfinity)
	case d.infinite:
		return append(dst, tagPositiveInfinity)
	case d.isZero():
		return append(dst, tagZero)
	}
	d = d.normalize()
	if d.exponent == 0 && d.hi == 0 && d.lo < 1<<63 {
		return appendInteger(dst, d.lo<<1, d.negative)
	}
	digits := d.digits()
	magnitude := len(digits) + d.exponent // 10^(magnitude-1) <= |d| < 10^magnitude
	var more bool
	switch {
	case magnitude < -323:
		more = true
		dst = appendSmallOrLarge(dst, 0, more, d.negative)
	case magnitude > 309:
		more = true
		dst = appendSmallOrLarge(dst, math.Float64bits(math.MaxFloat64), more, d.negative)
	default:
		dst, more = appendFraction(dst, d)
	}
	if !more {
		return dst
	}
	return appendDigits(dst, magnitude, digits, d.negative)
}

// appendFraction writes a decimal in the range of doubles, and reports whether
// something was cut off.
func appendFraction(dst []byte, d decimal) ([]byte, bool) {
	numerator, denominator := d.coefficient(), big.NewInt(1)
	if d.exponent >= 0 {
		numerator.Mul(numerator, PowerOfTen(d.exponent))
	} else {
		denominator = PowerOfTen(-d.exponent)
	}
	whole, rest := new(big.Int).QuoRem(numerator, denominator, new(big.Int))
	if whole.Sign() > 0 && whole.BitLen() <= 63 {
		fraction, rest := rest.QuoRem(rest.Lsh(rest, 52), denominator, new(big.Int))
		more := rest.Sign() != 0
		return appendMixed(dst, whole.Uint64(), fraction.Uint64(), more, d.negative), more
	}
	double, more := truncateToDouble(numerator, denominator)
	return appendSmallOrLarge(dst, double, more, d.negative), more
}

// truncateToDouble returns the bits of the largest double not above the fraction, and
// whether it is below. The fraction is positive.
func truncateToDouble(numerator, denominator *big.Int) (double uint64, below bool) {
	// Scale by 2^shift so that the quotient has the 53 bits of a mantissa;
	// subnormal numbers have fewer.
	shift := 53 - numerator.BitLen() + denominator.BitLen()
	for {
		shift = min(shift, 1074)
		n, m := new(big.Int).Set(numerator), new(big.Int).Set(denominator)
		if shift >= 0 {
			n.Lsh(n, uint(shift))
		} else {
			m.Lsh(m, uint(-shift))
		}
		rest := new(big.Int)
		n.QuoRem(n, m, rest)
		if n.BitLen() > 53 {
			shift--
			continue
		}
		exponent := 52 - shift
		mantissa := n.Uint64()
		below = rest.Sign() != 0
		switch {
		case exponent > 1023:
			return math.Float64bits(math.MaxFloat64), true
		case mantissa < 1<<52:
			return mantissa, below
		}
		return uint64(exponent+1023)<<52 | mantissa&(1<<52-1), below
	}
}

// appendDigits writes the parts that only a decimal has: its magnitude and all digits, in pairs, closed
// by a zero.
func appendDigits(dst []byte, magnitude int, digits []uint8, negative bool) []byte {
	from := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, uint16(magnitude+1<<15))
	for i := 0; i < len(digits); i += 2 {
		pair := digits[i] * 10
		if i+1 < len(digits) {
			pair += digits[i+1]
		}
		dst = append(dst, pair+1)
	}
	dst = append(dst, 0)
	if negative {
		for i := from; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}
