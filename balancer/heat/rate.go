package heat

import "math"

// Load is operations a second.
type Load struct {
	Reads  float64 `json:"reads"`
	Writes float64 `json:"writes"` // inserts as well
}

func (l Load) plus(o Load) Load        { return Load{l.Reads + o.Reads, l.Writes + o.Writes} }
func (l *Load) add(k Kind, by float64) { *l = l.plus(newLoad(k, by)) }

func newLoad(k Kind, n float64) Load {
	if k == Read {
		return Load{Reads: n}
	}
	return Load{Writes: n}
}

// Total is all operations.
func (l Load) Total() float64 { return l.Reads + l.Writes }

// Range of a Poisson distribution of which n were seen, with 95 % confidence (the
// approximation of Wilson and Hilferty, within 1 % from 1 on).
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

// Interval is between which values something lies, with 95 % confidence.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// newInterval is that of a value that n samples say.
func newInterval(value, n, each float64) Interval {
	low, high := poissonInterval(n)
	if n <= 0 {
		return Interval{0, high * each}
	}
	return Interval{value * low / n, value * high / n}
}

// LoadKind says which load is evened out.
type LoadKind string

// What there is to even out.
const (
	ByReads  LoadKind = "reads"
	ByWrites LoadKind = "writes"
	// ByMixed weighs reads and writes by how long they take on average.
	ByMixed LoadKind = "mixed"
)

// LoadKinds returns by what load can be evened out.
func LoadKinds() []LoadKind { return []LoadKind{ByReads, ByWrites, ByMixed} }

// Weights say what a read and a write count.
type Weights struct{ Read, Write float64 }

// Weigh returns what a load counts.
func (w Weights) Weigh(l Load) float64 { return w.Read*l.Reads + w.Write*l.Writes }
