package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Spec describes a workload.
type Spec struct {
	Namespace string
	// Rate is the average number of operations per second.
	Rate float64
	// KeyDistribution is the distribution of keys: "uniform"; "zipf 1.1" with the exponent; "hot 5% 80%" with the
	// share of adjacent hot keys and their share of the operations; "latest", which prefers the newest
	// keys; "key 50%" with the share of one key.
	KeyDistribution string
	// Mix holds the shares of the operations; all zero means only reads.
	Mix Mix
	// HotRangeDrift is "daily" if the hot range moves through all keys once a day.
	HotRangeDrift string
	// RateCycle is "daily" if the rate changes between 160 % of Rate at noon and 40 % at midnight (UTC).
	RateCycle string
	// KeyCount is the number of keys; the default is 10,000.
	KeyCount int
	// ScatterShare is the share of reads without a key, which go to all shards.
	ScatterShare float64
	// DocumentBytes is the size of an inserted document; the default is 1 KiB.
	DocumentBytes int64
}

// Mix holds the shares of the operations.
type Mix struct{ Reads, Inserts, Updates, Deletes float64 }

// Sum returns the sum of the shares.
func (m Mix) Sum() float64 { return m.Reads + m.Inserts + m.Updates + m.Deletes }

// maxKeys limits the memory of a workload.
const maxKeys = 1_000_000

// keyDistribution is a parsed Spec.KeyDistribution.
type keyDistribution struct {
	name string
	args [2]float64
}

// distributionArgs are the key distributions with the number of their arguments.
var distributionArgs = map[string]int{"uniform": 0, "zipf": 1, "hot": 2, "latest": 0, "key": 1}

func parseKeyDistribution(text string) (f keyDistribution, err error) {
	words := strings.Fields(text)
	wrong := fmt.Errorf(`keys: %q is not one of "uniform", "zipf 1.1", "hot 5%% 80%%", "latest", "key 50%%"`, text)
	if len(words) == 0 {
		return keyDistribution{name: "uniform"}, nil
	}
	n, known := distributionArgs[words[0]]
	if !known || len(words) != n+1 {
		return f, wrong
	}
	f.name = words[0]
	for i, word := range words[1:] {
		number, percent := strings.CutSuffix(word, "%")
		if f.args[i], err = strconv.ParseFloat(number, 64); err != nil || percent == (f.name == "zipf") {
			return f, wrong
		}
		if percent {
			f.args[i] /= 100
		}
		if !(f.args[i] > 0) || percent && f.args[i] > 1 || f.args[i] > 10 {
			return f, wrong
		}
	}
	return f, nil
}

// Check rejects an invalid Spec.
func (s Spec) Check() error {
	if _, err := parseKeyDistribution(s.KeyDistribution); err != nil {
		return err
	}
	m := s.Mix
	switch {
	case !(s.Rate > 0) || s.Rate > 1e9:
		return fmt.Errorf("rate: %v is not a valid number of operations per second", s.Rate)
	case min(m.Reads, m.Inserts, m.Updates, m.Deletes) < 0 || math.IsNaN(m.Sum()) || math.IsInf(m.Sum(), 0):
		return fmt.Errorf("mix: %v is not a valid mix of operations", m)
	case s.HotRangeDrift != "" && s.HotRangeDrift != "daily":
		return fmt.Errorf("moves: %q is not \"daily\"", s.HotRangeDrift)
	case s.RateCycle != "" && s.RateCycle != "daily":
		return fmt.Errorf("wave: %q is not \"daily\"", s.RateCycle)
	case s.KeyCount < 0 || s.KeyCount > maxKeys:
		return fmt.Errorf("count: %d is not a valid number of keys (at most %d)", s.KeyCount, maxKeys)
	case !(s.ScatterShare >= 0) || s.ScatterShare > 1:
		return fmt.Errorf("scatter: %v is not a share between 0 and 1", s.ScatterShare)
	case s.DocumentBytes < 0 || s.DocumentBytes > 16<<20:
		return fmt.Errorf("documentBytes: %d is not a valid document size", s.DocumentBytes)
	}
	return nil
}

// RateAt returns the number of operations per second at a time.
func (s Spec) RateAt(at time.Time) float64 {
	if s.RateCycle == "" {
		return s.Rate
	}
	return s.Rate * (1 - 0.6*math.Cos(2*math.Pi*dayPart(at)))
}

// dayPart returns the elapsed part of the day, from 0 to 1.
func dayPart(at time.Time) float64 {
	at = at.UTC()
	day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	return at.Sub(day).Hours() / 24
}
