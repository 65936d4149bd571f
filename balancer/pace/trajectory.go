package pace

import (
	"math"
	"time"
)

// Range is how long something takes at least and at most, nine times in ten.
type Range struct{ Low, High time.Duration }

// Remaining is what a run still has to do, as far as whoever planned it knows.
type Remaining struct {
	Bytes int64 // that are to be moved
	Steps int   // where it is not bytes that take the time
}

// trajectory is the progress over time, from which the remaining time is estimated: each run
// measures itself, at the pace that its own rules, the load of these hours and these
// links leave. A forecast knows the balancer's rounds and pauses instead, which an
// shardsh run does not have.
type trajectory struct {
	marks []mark
}

// mark is how much was done when a step ended.
type mark struct {
	at     time.Duration // since the first step began, without the time of a shut window
	amount float64       // since then
}

// maxMarks is how many are kept of a trajectory, however long it is.
const maxMarks = 128

func (c *trajectory) addMark(at time.Duration, amount float64) {
	if n := len(c.marks); n > 0 {
		amount += c.marks[n-1].amount
	}
	if len(c.marks) == maxMarks {
		for i := range maxMarks / 2 {
			c.marks[i] = c.marks[2*i+1]
		}
		c.marks = c.marks[:maxMarks/2]
	}
	c.marks = append(c.marks, mark{at, amount})
}

// The minimum of a trajectory for an estimate of the remaining time.
const (
	minMarks = 4
	minTime  = 5 * time.Second
)

const (
	// assumedSpread is what the logarithm of the pace of parts of a trajectory varies by as
	// long as few were seen, doubt how many of those that were seen it counts as.
	assumedSpread = 0.5
	doubt         = 3
	// surprise remains however much was seen: the load of the next hour is another.
	surprise = 0.25
	// nineInTen lie within so many standard deviations.
	nineInTen = 1.645
	// maxParts are those that a trajectory is cut into, to see how they differ.
	maxParts = 16
)

// timeToGo returns how long an amount takes, as seen at a time of the trajectory.
func (c *trajectory) timeToGo(left float64, now time.Duration) (Range, bool) {
	if len(c.marks) < minMarks || now < minTime || left <= 0 {
		return Range{}, false
	}
	last := c.marks[len(c.marks)-1]
	rate := last.amount / last.at.Seconds()
	if last.amount <= 0 || math.IsInf(rate, 0) {
		return Range{}, false
	}
	spread, parts := c.spread(rate)
	future := math.Max(1, left/last.amount*float64(parts))
	sigma := math.Sqrt(surprise*surprise + spread*spread*(1/float64(parts)+1/future))
	factor := math.Exp(nineInTen * sigma)
	slow := math.Min(rate/factor, last.amount/now.Seconds()) // of a step that does not end
	return Range{Low: durationOf(left / (rate * factor)), High: durationOf(left / slow)}, true
}

// spread returns the standard deviation of the logarithm of the pace of parts of the
// trajectory, and how many there are.
func (c *trajectory) spread(rate float64) (float64, int) {
	parts := min(maxParts, len(c.marks))
	squares, seen := doubt*assumedSpread*assumedSpread, 0.0
	var before mark
	for i := range parts {
		here := c.marks[(i+1)*len(c.marks)/parts-1]
		amount, took := here.amount-before.amount, (here.at - before.at).Seconds()
		if before = here; amount <= 0 || took <= 0 {
			continue // steps that ended at once, or moved nothing
		}
		d := math.Log(amount / took / rate)
		seen, squares = seen+1, squares+d*d
	}
	return math.Sqrt(squares / (math.Max(1, seen) - 1 + doubt)), parts
}

func durationOf(s float64) time.Duration {
	return time.Duration(math.Min(s, math.MaxInt64/float64(time.Second)/2) * float64(time.Second))
}

// SetRemaining tells what is left to do. Where it is not told, it is not known how long the rest
// takes.
func (g *Gate) SetRemaining(l Remaining) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = &l
}

// addMarks notes that a step has ended well.
func (g *Gate) addMarks(m Move) {
	at := g.workedTime()
	if !m.MovesNothing {
		g.bytes.addMark(at, float64(m.Bytes))
	}
	g.steps.addMark(at, 1)
}

// workedTime is how long it is since the first step began, without the time of a shut
// window.
func (g *Gate) workedTime() time.Duration {
	worked := g.clock.Now().Sub(g.firstStepAt)
	if w := g.waits[WaitWindow]; w != nil {
		worked -= w.waitedTime(g.clock.Now()) - g.shutBefore
	}
	return worked
}

// timeToGo is how long the rest takes, or what of it the limits of this run let in; nil
// where that is not known yet.
func (g *Gate) timeToGo() *Range {
	if g.left == nil || g.firstStepAt.IsZero() {
		return nil
	}
	left, c := float64(g.left.Bytes), &g.bytes
	switch most := g.rules.MaxBytes; {
	case left == 0:
		left, c = float64(g.left.Steps), &g.steps
	case most > 0:
		left = min(left, float64(max(0, most-g.done.Bytes)))
	}
	r, known := c.timeToGo(left, g.workedTime())
	if !known {
		return nil
	}
	if f := g.rules.MaxTime; f > 0 {
		ends := max(0, f-g.clock.Now().Sub(g.began))
		r.Low, r.High = min(r.Low, ends), min(r.High, ends)
	}
	return &r
}
