package main

import (
	"context"
	"errors"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/sim"
)

// looker is an action that changes nothing.
type looker[R any] interface {
	Validate() error
	Run(ctx context.Context, source action.Source, r action.Reporter) (R, error)
}

// look runs such an action and shows its result. Percent is that of the garbage
// collector while it computes.
func look[R any](
	ctx context.Context, env environment, o *sourceFlags, percent int, verb looker[R], show func(R) error,
) error {
	return o.within(ctx, env, func(ctx context.Context) error {
		source, done, err := o.open(ctx, env)
		if err != nil {
			return err
		}
		defer done()
		source.Computing = func(compute func() error) error {
			_, err := withGC(percent, func() (struct{}, error) { return struct{}{}, compute() })
			return err
		}
		began := time.Now()
		reporter := lookReporter{
			read:       func(s *catalog.Snapshot) { o.noteRead(env, source, s, began) },
			reading:    o.progress.reading,
			simulating: o.progress.simulating,
			note:       func(text string) { notice(env.stderr, o.quiet, "%s", text) },
		}
		result, err := withGC(frequentGC, func() (R, error) { return verb.Run(ctx, source, reporter) })
		o.progress.end()
		if errors.As(err, new(*action.OptionError)) {
			return wrongOptions(err)
		}
		if err != nil {
			return orTimeout(ctx, suggesting(err))
		}
		return show(result)
	})
}

// lookReporter shows what an action reads and how far it is.
type lookReporter struct {
	read       func(s *catalog.Snapshot)
	reading    func(p live.Progress)
	simulating func(p sim.Progress)
	note       func(text string)
}

// Report shows an event.
func (r lookReporter) Report(e action.Event) {
	switch e := e.(type) {
	case action.SnapshotRead:
		r.read(e.Snapshot)
	case action.ReadProgress:
		r.reading(e.Progress)
	case action.SimulationProgress:
		r.simulating(e.Progress)
	case action.Note:
		r.note(e.Text)
	}
}
