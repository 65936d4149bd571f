package pace

import (
	"math"
	"time"
)

// DurationRange is the time that something takes, at least and at most, with a probability of nine in ten.
type DurationRange struct{ Low, High time.Duration }

// Remaining is the remaining work of a run, as far as known.
type Remaining struct {
	Bytes int64 // bytes to move
	Steps int   // steps, for work whose time does not depend on bytes
}

// trajectory is the progress over time, from which the remaining time is estimated. Each run measures
// itself, under its own rules and the current load and network. A forecast, in contrast, models the
// rounds and pauses of the cluster's balancer, which do not apply to a run of shardsh.
type trajectory struct {
	marks []mark
}

// mark is the amount that was done when a step ended.
type mark struct {
	at     time.Duration // since the start of the first step, without the time of a shut window
	amount float64       // done since then
}

// maxMarks is the maximum number of marks of a trajectory, however long the run is.
const maxMarks = 128

func (t *trajectory) addMark(at time.Duration, amount float64) {
	if n := len(t.marks); n > 0 {
		amount += t.marks[n-1].amount
	}
	if len(t.marks) == maxMarks {
		for i := range maxMarks / 2 {
			t.marks[i] = t.marks[2*i+1]
		}
		t.marks = t.marks[:maxMarks/2]
	}
	t.marks = append(t.marks, mark{at, amount})
}

// The minimum of a trajectory for an estimate of the remaining time.
const (
	minMarks          = 4
	minTrajectoryTime = 5 * time.Second
)

const (
	// assumedLogPaceDeviation is the assumed standard deviation of the logarithm of the pace as long as few parts
	// were seen. assumptionWeight is the number of parts as which the assumption counts.
	assumedLogPaceDeviation = 0.5
	assumptionWeight        = 3
	// lastingUncertainty is the part of the uncertainty that remains after any number of parts, since the load of
	// the next hour may differ.
	lastingUncertainty = 0.25
	// ninetyPercentZ is the number of standard deviations that contain nine in ten values.
	ninetyPercentZ = 1.645
	// maxTrajectoryParts is the maximum number of parts into which a trajectory is divided to measure their
	// variation.
	maxTrajectoryParts = 16
)

// timeToGo returns how long the remaining amount takes, as seen at a time of the trajectory.
func (t *trajectory) timeToGo(left float64, now time.Duration) (DurationRange, bool) {
	if len(t.marks) < minMarks || now < minTrajectoryTime || left <= 0 {
		return DurationRange{}, false
	}
	last := t.marks[len(t.marks)-1]
	rate := last.amount / last.at.Seconds()
	if last.amount <= 0 || math.IsInf(rate, 0) {
		return DurationRange{}, false
	}
	spread, parts := t.logPaceDeviation(rate)
	future := math.Max(1, left/last.amount*float64(parts))
	sigma := math.Sqrt(lastingUncertainty*lastingUncertainty + spread*spread*(1/float64(parts)+1/future))
	factor := math.Exp(ninetyPercentZ * sigma)
	slow := math.Min(rate/factor, last.amount/now.Seconds()) // for a step that does not end
	return DurationRange{Low: durationOfSeconds(left / (rate * factor)), High: durationOfSeconds(left / slow)}, true
}

// logPaceDeviation returns the standard deviation of the logarithm of the pace of parts of the trajectory, and
// the number of parts.
func (t *trajectory) logPaceDeviation(rate float64) (float64, int) {
	parts := min(maxTrajectoryParts, len(t.marks))
	squares, seen := assumptionWeight*assumedLogPaceDeviation*assumedLogPaceDeviation, 0.0
	var before mark
	for i := range parts {
		here := t.marks[(i+1)*len(t.marks)/parts-1]
		amount, took := here.amount-before.amount, (here.at - before.at).Seconds()
		if before = here; amount <= 0 || took <= 0 {
			continue // steps that ended immediately, or moved nothing
		}
		d := math.Log(amount / took / rate)
		seen, squares = seen+1, squares+d*d
	}
	return math.Sqrt(squares / (math.Max(1, seen) - 1 + assumptionWeight)), parts
}

func durationOfSeconds(s float64) time.Duration {
	return time.Duration(math.Min(s, math.MaxInt64/float64(time.Second)/2) * float64(time.Second))
}

// SetRemaining sets the remaining work. Without it, the remaining time is not known.
func (g *Gate) SetRemaining(l Remaining) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remaining = &l
}

// addMarks records that a step has succeeded.
func (g *Gate) addMarks(m Move) {
	at := g.workedTime()
	if !m.MovesNothing {
		g.byteTrajectory.addMark(at, float64(m.Bytes))
	}
	g.stepTrajectory.addMark(at, 1)
}

// workedTime returns the time since the start of the first step, without the time of a shut window.
func (g *Gate) workedTime() time.Duration {
	worked := g.clock.Now().Sub(g.firstStepAt)
	if w := g.waits[WaitWindow]; w != nil {
		worked -= w.waitedTime(g.clock.Now()) - g.shutBeforeFirstStep
	}
	return worked
}

// timeToGo returns the time of the remaining work, or of the part of it that the limits of bytes and time
// permit; nil if it is not known yet.
func (g *Gate) timeToGo() *DurationRange {
	if g.remaining == nil || g.firstStepAt.IsZero() {
		return nil
	}
	left, c := float64(g.remaining.Bytes), &g.byteTrajectory
	switch most := g.rules.MaxBytes; {
	case left == 0:
		left, c = float64(g.remaining.Steps), &g.stepTrajectory
	case most > 0:
		left = min(left, float64(max(0, most-g.rules.MovedBefore.Bytes-g.done.Bytes)))
	}
	r, known := c.timeToGo(left, g.workedTime())
	if !known {
		return nil
	}
	if most := g.rules.MaxTime; most > 0 {
		ends := max(0, most-g.spentLocked())
		r.Low, r.High = min(r.Low, ends), min(r.High, ends)
	}
	return &r
}
