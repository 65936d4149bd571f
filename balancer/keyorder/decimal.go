package keyorder

import (
	"encoding/binary"
	"math/big"
	"math/bits"
)

// decimal is a decoded Decimal128: ±(hi·2^64 + lo) · 10^exponent.
type decimal struct {
	negative, nan, infinite bool
	hi, lo                  uint64
	exponent                int
}

// The largest coefficient is 10^34 - 1. Larger coefficients in the encoding count as zero (IEEE
// 754-2008 §3.5.2).
const (
	maxDecimalHi = 0x1ed09bead87c0
	maxDecimalLo = 0x378d8e63ffffffff
)

func decimalOf(b []byte) decimal {
	b = padTo(b, 16)
	lo, hi := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	d := decimal{negative: hi>>63 == 1}
	switch {
	case hi>>58&0x1f == 0x1f:
		d.nan = true
	case hi>>58&0x1f == 0x1e:
		d.infinite = true
	case hi>>61&3 == 3:
		// The long coefficient of this form is always beyond the largest.
		d.exponent = int(hi>>47&0x3fff) - 6176
	default:
		d.exponent = int(hi>>49&0x3fff) - 6176
		d.hi, d.lo = hi&(1<<49-1), lo
		if d.hi > maxDecimalHi || d.hi == maxDecimalHi && d.lo > maxDecimalLo {
			d.hi, d.lo = 0, 0
		}
	}
	return d
}

func (d decimal) isZero() bool { return d.hi == 0 && d.lo == 0 && !d.nan && !d.infinite }

func (d decimal) coefficient() *big.Int {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], d.hi)
	binary.BigEndian.PutUint64(b[8:], d.lo)
	return new(big.Int).SetBytes(b[:])
}

// divideByTen returns the quotient and the remainder.
func (d decimal) divideByTen() (q decimal, digit uint8) {
	q = d
	var r uint64
	q.hi, r = d.hi/10, d.hi%10
	q.lo, r = bits.Div64(r, d.lo, 10)
	q.exponent++
	return q, uint8(r)
}

// normalize returns the same number without trailing zeros in its coefficient.
func (d decimal) normalize() decimal {
	for !d.isZero() {
		q, digit := d.divideByTen()
		if digit != 0 {
			break
		}
		d = q
	}
	return d
}

// digits returns the decimal digits of the coefficient, most significant first.
func (d decimal) digits() []uint8 {
	var all [39]uint8
	n := len(all)
	for d.hi != 0 || d.lo != 0 {
		n--
		d, all[n] = d.divideByTen()
	}
	return all[n:]
}

// PowerOfTen returns a power of ten.
func PowerOfTen(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
