package sim

import "time"

// Watch is told now and then how far a run is. An error of it ends the run.
type Watch func(Progress) error

// Progress is how far a run is.
type Progress struct {
	Rounds int64
	Moves  int
	At     time.Time // the run's time
}

// looks is how many events of the queue go by between two looks of a Watch.
const looks = 256

// watched reports whether a run may go on.
func (r *Run) watched() bool {
	if r.steps++; r.cfg.Watch == nil || r.steps%looks != 0 {
		return r.err == nil
	}
	if r.err == nil {
		r.err = r.cfg.Watch(Progress{Rounds: r.loop.Status().Rounds, Moves: r.cluster.moves, At: r.Now()})
	}
	return r.err == nil
}

// Err returns the error with which the run has ended: that of the Watch, or a RestlessError.
func (r *Run) Err() error { return r.err }
