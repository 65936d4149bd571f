package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/timespan"
)

// Percent is the unit of shares. The other units are those of package diagnosis.
const Percent diagnosis.Unit = "percent"

// Quantity is a number with a unit: a measured value, or the maximum that a rule allows.
type Quantity struct {
	Value float64        `json:"value"`
	Unit  diagnosis.Unit `json:"unit,omitzero"`
}

func countQuantity(n int64) Quantity { return Quantity{Value: float64(n)} }

func secondsQuantity(d time.Duration) Quantity { return Quantity{d.Seconds(), diagnosis.Seconds} }

// String returns the quantity as ParseQuantity reads it, rounded.
func (q Quantity) String() string {
	switch q.Unit {
	case Percent:
		return strconv.FormatFloat(math.Round(q.Value*10)/10, 'f', -1, 64) + "%"
	case diagnosis.Bytes:
		return humanize.Bytes(q.Value)
	case diagnosis.Seconds:
		return humanize.Duration(time.Duration(q.Value * float64(time.Second)).Round(time.Second))
	}
	return strconv.FormatFloat(q.Value, 'f', -1, 64)
}

// parsers holds a parser and an example for each unit.
var parsers = map[diagnosis.Unit]struct {
	example string
	read    func(text string) (float64, bool)
}{
	diagnosis.Count: {"100", func(text string) (float64, bool) {
		n, err := strconv.ParseUint(text, 10, 53)
		return float64(n), err == nil
	}},
	Percent: {"20%", func(text string) (float64, bool) {
		number, ok := strings.CutSuffix(text, "%")
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		return n, ok && err == nil && n >= 0 && n <= 1e9
	}},
	diagnosis.Bytes: {"10GiB", func(text string) (float64, bool) {
		n, err := catalog.ParseSize(text)
		return float64(n), err == nil && strings.HasSuffix(text, "B")
	}},
	diagnosis.Seconds: {"24h", func(text string) (float64, bool) {
		d, err := timespan.Parse(text)
		return d.Seconds(), err == nil
	}},
}

// ParseQuantity reads a quantity in one of the units, such as 100, 20%, 10GiB,
// 24h or 7d.
func ParseQuantity(text string, units ...diagnosis.Unit) (Quantity, error) {
	text = strings.TrimSpace(text)
	var examples []string
	for _, unit := range units {
		if value, ok := parsers[unit].read(text); ok {
			return Quantity{value, unit}, nil
		}
		examples = append(examples, parsers[unit].example)
	}
	return Quantity{}, fmt.Errorf("%q is not a value such as %s", text, strings.Join(slices.Compact(examples), " or "))
}
