package main

import (
	"context"
	"errors"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/sim"
	"shardsh/bindings/findings"
)

// readAction is a read-only action.
type readAction[R any] interface {
	Validate() error
	Run(ctx context.Context, source action.Source, r action.Reporter) (R, error)
}

// runReadAction runs an action and shows its result. percent is the GOGC percentage during the
// computation.
func runReadAction[R any](
	ctx context.Context, env environment, o *sourceFlags, percent int, verb readAction[R], show func(R) error,
) error {
	return o.runWithTimeout(ctx, env, func(ctx context.Context) error {
		source, done, err := o.open(ctx, env)
		if err != nil {
			return err
		}
		defer done()
		source.RunComputation = func(compute func() error) error {
			_, err := withGC(percent, func() (struct{}, error) { return struct{}{}, compute() })
			return err
		}
		began := time.Now()
		reporter := readReporter{
			onRead:               func(s *catalog.Snapshot) { o.reportRead(env, source, s, began) },
			onReadProgress:       o.progress.showReading,
			onSimulationProgress: o.progress.showSimulation,
			onNote:               func(text string) { notice(env.stderr, o.quiet.On, "%s", text) },
		}
		result, err := withGC(frequentGC, func() (R, error) { return verb.Run(ctx, source, reporter) })
		o.progress.clearLine()
		if errors.As(err, new(*action.OptionError)) {
			return optionsUsageError(err)
		}
		if err != nil {
			return preferTimeout(ctx, findings.WithSuggestion(err))
		}
		return show(result)
	})
}

// readReporter prints the progress of a read-only action.
type readReporter struct {
	onRead               func(s *catalog.Snapshot)
	onReadProgress       func(p live.Progress)
	onSimulationProgress func(p sim.Progress)
	onNote               func(text string)
}

// Report handles an event.
func (r readReporter) Report(e action.Event) {
	switch e := e.(type) {
	case action.SnapshotRead:
		r.onRead(e.Snapshot)
	case action.ReadProgress:
		r.onReadProgress(e.Progress)
	case action.SimulationProgress:
		r.onSimulationProgress(e.Progress)
	case action.Note:
		r.onNote(e.Text)
	}
}
