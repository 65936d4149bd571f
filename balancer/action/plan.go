package action

import (
	"context"
	"slices"
	"time"

	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// Plan computes the steps to reach a goal. It changes nothing.
type Plan struct {
	// Goal contains the collections; the zero Goal is to balance all.
	Goal plan.Goal
	// Presplit is the goal if it is set, instead of Goal: to presplit one collection.
	Presplit *PresplitMethod
	// MaxBytes, MaxMoves, MaxRounds and MaxDuration limit the plan, which ends before it exceeds one of them;
	// zero means no limit.
	MaxBytes            int64
	MaxMoves, MaxRounds int
	MaxDuration         time.Duration // by the cluster's clock
	// DiskLimit is the maximum fraction of its volume that a shard may fill by receiving chunks; zero
	// disables the check.
	DiskLimit float64
	// SizeModel is the assumption about the sizes of chunks: measured, even, or skewed=SPREAD. Empty means
	// measured.
	SizeModel string
	// Seed makes the random choices like a mock with this seed; 0 keeps the order of the catalog.
	Seed uint64
	// IgnoreWindow plans as if the balancer worked around the clock.
	IgnoreWindow bool
	// TimeZone is the time zone of the config servers, as in Forecast.
	TimeZone string
	// AdvisoriesFile is a file that adds known server faults or mutes some.
	AdvisoriesFile string
}

// Validate checks the options.
func (p Plan) Validate() error {
	switch {
	case p.Goal.Kind == plan.Load:
		return refuse("{goal} load can't be planned ahead, because each round measures the load again: see " +
			"shardsh balance, forecast and simulate")
	case p.MaxBytes < 0:
		return refuse("{maxBytes} is %d, and can't be negative", p.MaxBytes)
	case p.MaxMoves < 0:
		return refuse("{maxMoves} is %d, and can't be negative", p.MaxMoves)
	case p.MaxRounds < 0:
		return refuse("{maxRounds} is %d, and can't be negative", p.MaxRounds)
	case p.MaxDuration < 0:
		return refuse("{for} is %s, and can't be negative", p.MaxDuration)
	}
	if err := checkDiskLimit(p.DiskLimit); err != nil {
		return err
	}
	if p.Presplit != nil {
		if err := p.Presplit.Validate(); err != nil {
			return err
		}
	}
	if _, err := locationOf(p.TimeZone); err != nil {
		return err
	}
	if _, err := LoadAdvisories(p.AdvisoriesFile); err != nil {
		return err
	}
	_, err := sizeModelOf(p.SizeModel, p.Seed)
	return err
}

// sizeModelOf returns the model with a name.
func sizeModelOf(name string, seed uint64) (plan.ChunkModel, error) {
	model, err := plan.ParseModel(name, seed)
	if err != nil {
		return model, refuse("{model}: %s", err)
	}
	return model, nil
}

// Run reads the cluster and makes a plan. It fails if data could not be read without which the plan
// would wrongly say that there is nothing to do.
func (p Plan) Run(ctx context.Context, source Source, r Reporter) (*plan.Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	reporter := &serialReporter{next: r}
	options := live.ReaderOptions{}
	switch {
	case p.DiskLimit > 0:
		options.Parts = live.DefaultParts | live.ReusableSpace
	case p.Presplit == nil:
		options = source.withOutlines(ctx, p.Goal, options)
	}
	s, err := source.readAndReport(ctx, options, p.TimeZone, reporter)
	if err != nil {
		return nil, err
	}
	goal := p.Goal
	if p.Presplit != nil {
		goal.Namespaces = []string{p.Presplit.Namespace}
	}
	if err := checkGaps(s, goal.Namespaces); err != nil {
		return nil, err
	}
	if kind := goal.Kind; p.Presplit == nil && slices.Contains([]plan.GoalKind{"", plan.Balance, plan.Defragment}, kind) {
		if err := checkSizesKnown(s, goal.Namespaces); err != nil {
			return nil, err
		}
	}
	if p.Presplit != nil {
		if p.Presplit.ChunksFromSample > 0 && source.Client == nil {
			return nil, refuse("{fromSample} needs a cluster: the file has no documents")
		}
		if goal, err = p.Presplit.Goal(ctx, source.Client, s); err != nil {
			return nil, err
		}
	}
	model, err := sizeModelOf(p.SizeModel, p.Seed)
	if err != nil {
		return nil, err
	}
	var made *plan.Plan
	err = source.compute(func() (err error) {
		made, err = plan.Make(s, plan.Options{
			Goal: goal, Model: model, Seed: p.Seed, IgnoreWindow: p.IgnoreWindow, OnProgress: reporter.newSimWatch(ctx),
			Limits: plan.Limits{Bytes: p.MaxBytes, Moves: p.MaxMoves, Rounds: p.MaxRounds, Time: p.MaxDuration,
				Disk: p.DiskLimit},
		})
		return err
	})
	if err == nil {
		err = p.noteKnownFaults(s, made, reporter)
	}
	return made, err
}
