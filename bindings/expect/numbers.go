package expect

import (
	"math"
	"math/big"
	"strconv"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// numberMatchers returns the matchers that order values: numbers of any type, and dates.
func numberMatchers() []Matcher {
	order := func(name, sign, help string, holds func(cmp int) bool) Matcher {
		return Matcher{name, "expected", func(m *Match) bool {
			a, b := m.number(m.Received, "received"), m.number(m.Arg(0), "expected")
			return a != nil && b != nil && holds(a.Cmp(b))
		}, func(m *Match) string {
			return m.LabelledText("", sign+" "+m.valueText(m.Arg(0)), m.valueText(m.Received))
		}, help}
	}
	return []Matcher{
		order("toBeGreaterThan", ">", "A larger number, or a later date.", func(c int) bool { return c > 0 }),
		order("toBeGreaterThanOrEqual", ">=", "A number or a date at least so large.", func(c int) bool { return c >= 0 }),
		order("toBeLessThan", "<", "A smaller number, or an earlier date.", func(c int) bool { return c < 0 }),
		order("toBeLessThanOrEqual", "<=", "A number or a date at most so large.", func(c int) bool { return c <= 0 }),
		{"toBeCloseTo", "expected:any digits?:number", isCloseTo, explainClose,
			"A number that differs by less than half a unit of a decimal place (2)."},
	}
}

// number converts a value to a number; nil for NaN. It throws if the value is not a number.
func (m *Match) number(v goja.Value, which string) *big.Float {
	switch {
	case goja.IsNaN(v):
		return nil
	case goja.IsNumber(v):
		return new(big.Float).SetFloat64(v.ToFloat())
	case goja.IsBigInt(v), isNumeric(v):
		if n, _, err := big.ParseFloat(v.String(), 10, 200, big.ToNearestEven); err == nil {
			return n
		}
	}
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Date" {
		return new(big.Float).SetFloat64(v.ToFloat())
	}
	m.JS.Throw(ErrorName, "the %s value has to be a number or a date\nReceived: %s", which, m.valueText(v))
	return nil
}

// closeToDistance returns the difference to the expected number, and the maximum difference.
func (m *Match) closeToDistance() (distance, maxDistance float64) {
	digits := 2.0
	if m.Has(1) {
		digits = m.Arg(1).ToFloat()
	}
	maxDistance = math.Pow(10, -digits) / 2
	a, b := m.number(m.Received, "received"), m.number(m.Arg(0), "expected")
	if a == nil || b == nil {
		return math.NaN(), maxDistance
	}
	if a.Cmp(b) == 0 { // also for infinite numbers
		return 0, maxDistance
	}
	x, _ := a.Float64()
	y, _ := b.Float64()
	return math.Abs(x - y), maxDistance
}

func isCloseTo(m *Match) bool {
	off, most := m.closeToDistance()
	return off < most
}

func explainClose(m *Match) string {
	off, most := m.closeToDistance()
	return m.LabelledText("", script.OptionalText(m.Arg(0)), m.valueText(m.Received)) +
		"\nThey differ by " + strconv.FormatFloat(off, 'g', -1, 64) +
		", which has to be less than " + strconv.FormatFloat(most, 'g', -1, 64)
}
