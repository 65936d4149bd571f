package heat

import "math"

// Load is a rate in operations a second.
type Load struct {
	Reads  float64 `json:"reads"`
	Writes float64 `json:"writes"` // includes inserts
}

func (l Load) plus(o Load) Load        { return Load{l.Reads + o.Reads, l.Writes + o.Writes} }
func (l *Load) add(k Kind, by float64) { *l = l.plus(newLoad(k, by)) }

func newLoad(k Kind, n float64) Load {
	if k == Read {
		return Load{Reads: n}
	}
	return Load{Writes: n}
}

// Total returns the rate of all operations.
func (l Load) Total() float64 { return l.Reads + l.Writes }

// poissonInterval returns the 95 % confidence interval of the mean of a Poisson distribution of which n
// events were observed. It uses the approximation of Wilson and Hilferty, which is within 1 % from n =
// 1 on.
func poissonInterval(n float64) (low, high float64) {
	const z = 1.96
	side := func(n, z float64) float64 {
		if n <= 0 {
			return 0
		}
		return n * math.Pow(max(0, 1-1/(9*n)+z/(3*math.Sqrt(n))), 3)
	}
	return side(n, -z), side(n+1, z)
}

// Interval is a 95 % confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// newInterval returns the interval of a value that is estimated from n samples.
func newInterval(value, n, each float64) Interval {
	low, high := poissonInterval(n)
	if n <= 0 {
		return Interval{0, high * each}
	}
	return Interval{value * low / n, value * high / n}
}

// LoadKind is the kind of load that is evened out.
type LoadKind string

// The kinds of load.
const (
	ByReads  LoadKind = "reads"
	ByWrites LoadKind = "writes"
	// ByMixed weights reads and writes by their average duration.
	ByMixed LoadKind = "mixed"
)

// LoadKinds returns all kinds of load.
func LoadKinds() []LoadKind { return []LoadKind{ByReads, ByWrites, ByMixed} }

// Weights are the weights of a read and of a write.
type Weights struct{ Read, Write float64 }

// Weigh returns the weighted sum of a load.
func (w Weights) Weigh(l Load) float64 { return w.Read*l.Reads + w.Write*l.Writes }
