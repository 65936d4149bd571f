package sim

import "time"

// ProgressFunc is called periodically with the progress of a run. Its error ends the run.
type ProgressFunc func(Progress) error

// Progress is the progress of a run.
type Progress struct {
	Rounds int64
	Moves  int
	At     time.Time // simulated time
}

// eventsPerWatch is the number of events between two calls of Watch.
const eventsPerWatch = 256

// mayContinue reports whether a run may continue.
func (r *Run) mayContinue() bool {
	if r.eventCount++; r.cfg.OnProgress == nil || r.eventCount%eventsPerWatch != 0 {
		return r.err == nil
	}
	if r.err == nil {
		r.err = r.cfg.OnProgress(Progress{Rounds: r.loop.Status().Rounds, Moves: r.cluster.committedMoves, At: r.Now()})
	}
	return r.err == nil
}

// Err returns the error that ended the run: that of Watch, or a NotConvergingError.
func (r *Run) Err() error { return r.err }
