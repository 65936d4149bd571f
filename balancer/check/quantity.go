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
	"shardsh/balancer/timespan"
)

// Percent is the unit of shares, beside those that diagnosis has.
const Percent diagnosis.Unit = "percent"

// Quantity is a number of something: what a rule measured, or the most that it
// lets pass.
type Quantity struct {
	Value float64        `json:"value"`
	Unit  diagnosis.Unit `json:"unit,omitzero"`
}

func count(n int64) Quantity { return Quantity{Value: float64(n)} }

func seconds(d time.Duration) Quantity { return Quantity{d.Seconds(), diagnosis.Seconds} }

// String returns the quantity as ParseQuantity reads it, rounded.
func (q Quantity) String() string {
	switch q.Unit {
	case Percent:
		return strconv.FormatFloat(math.Round(q.Value*10)/10, 'f', -1, 64) + "%"
	case diagnosis.Bytes:
		return bytesText(q.Value)
	case diagnosis.Seconds:
		return spanText(q.Value)
	}
	return strconv.FormatFloat(q.Value, 'f', -1, 64)
}

func bytesText(bytes float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for ; bytes >= 1024 && i < len(units)-1; i++ {
		bytes /= 1024
	}
	return strconv.FormatFloat(math.Round(bytes*10)/10, 'f', -1, 64) + units[i]
}

func spanText(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	for _, unit := range []struct {
		of     time.Duration
		suffix string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= unit.of && d%unit.of == 0 {
			return strconv.FormatInt(int64(d/unit.of), 10) + unit.suffix
		}
	}
	return d.String()
}

// parsers read the quantities of a unit, and show one.
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
	return Quantity{}, fmt.Errorf("%q is nothing like %s", text, strings.Join(slices.Compact(examples), " or "))
}
