package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Spec is a workload.
type Spec struct {
	Namespace string
	// Rate is how many operations there are a second, on average.
	Rate float64
	// Keys says how often which key is wanted: "uniform"; "zipf 1.1", the exponent;
	// "hot 5% 80%", the share of neighbouring keys and that of the operations on them;
	// "latest", the newest most often; "key 50%", the share of one key.
	Keys string
	// Mix are parts of the operations; reads alone when all are zero.
	Mix Mix
	// Moves is "daily" where the hot place goes once through all keys a day.
	Moves string
	// Wave is "daily" where there is most at noon and least at midnight (UTC): the rate goes
	// from 40 % to 160 %.
	Wave string
	// Count is how many keys there are; 10,000 when it is zero.
	Count int
	// Scatter is the share of reads that name no key and go to all shards.
	Scatter float64
	// DocumentBytes is how large an inserted document is; a kibibyte when it is zero.
	DocumentBytes int64
}

// Mix are parts of the operations.
type Mix struct{ Reads, Inserts, Updates, Deletes float64 }

// Sum is all of them.
func (m Mix) Sum() float64 { return m.Reads + m.Inserts + m.Updates + m.Deletes }

// maxKeys bounds what a workload keeps in memory.
const maxKeys = 1_000_000

// keyDistribution is a parsed Spec.Keys.
type keyDistribution struct {
	name string
	args [2]float64
}

// distributionArgs are the distributions of keys: the name, and how many numbers follow.
var distributionArgs = map[string]int{"uniform": 0, "zipf": 1, "hot": 2, "latest": 0, "key": 1}

func parseKeys(text string) (f keyDistribution, err error) {
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

// Check refuses what can't be.
func (s Spec) Check() error {
	if _, err := parseKeys(s.Keys); err != nil {
		return err
	}
	m := s.Mix
	switch {
	case !(s.Rate > 0) || s.Rate > 1e9:
		return fmt.Errorf("rate: %v is not a number of operations a second", s.Rate)
	case min(m.Reads, m.Inserts, m.Updates, m.Deletes) < 0 || math.IsNaN(m.Sum()) || math.IsInf(m.Sum(), 0):
		return fmt.Errorf("mix: %v are not parts of operations", m)
	case s.Moves != "" && s.Moves != "daily":
		return fmt.Errorf("moves: %q is not \"daily\"", s.Moves)
	case s.Wave != "" && s.Wave != "daily":
		return fmt.Errorf("wave: %q is not \"daily\"", s.Wave)
	case s.Count < 0 || s.Count > maxKeys:
		return fmt.Errorf("count: %d is not a number of keys up to %d", s.Count, maxKeys)
	case !(s.Scatter >= 0) || s.Scatter > 1:
		return fmt.Errorf("scatter: %v is not a share", s.Scatter)
	case s.DocumentBytes < 0 || s.DocumentBytes > 16<<20:
		return fmt.Errorf("documentBytes: %d is not the size of a document", s.DocumentBytes)
	}
	return nil
}

// RateAt is how many operations a second there are at a time.
func (s Spec) RateAt(at time.Time) float64 {
	if s.Wave == "" {
		return s.Rate
	}
	return s.Rate * (1 - 0.6*math.Cos(2*math.Pi*dayPart(at)))
}

// dayPart is how much of a day has passed, from 0 to 1.
func dayPart(at time.Time) float64 {
	at = at.UTC()
	day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	return at.Sub(day).Hours() / 24
}
