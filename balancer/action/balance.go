package action

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/consent"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/heat"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/preflight"
	"shardsh/balancer/runner"
)

// Balance balances collections with our own engine, round by round.
type Balance struct {
	// Namespaces are the collections, by name or pattern. All selects every collection; it has to be
	// set explicitly, since without names nothing is selected.
	Namespaces []string
	All        bool
	// Goal and Order default to runner.GoalSize and runner.OrderPolicy.
	Goal  runner.BalanceGoal
	Order runner.Order
	// OpsInterval is the time for which operations are counted before each round, for the goal
	// runner.GoalOps; zero means a minute.
	OpsInterval time.Duration
	// LoadKind is the kind of load for the goal runner.GoalLoad.
	LoadKind heat.LoadKind
	// CoolDown is the time for which a range that was moved is not moved again.
	CoolDown time.Duration
	// WaitForLease is the maximum wait for the end of another run.
	WaitForLease time.Duration
	// Seed makes the random choices of a mock's balancer with this seed; 0 keeps the order of the
	// catalog.
	Seed uint64
	// PlanFirst plans the run first, so that the remaining time can be reported.
	PlanFirst bool

	Pace
	Control
	PreflightOptions
	PauseBalancing bool
	// ForceJumbo is the same as in RunOptions.
	ForceJumbo bool
	// DryRun returns the plan or the load, and changes nothing.
	DryRun bool
}

// Validate refuses options that exclude each other.
func (b Balance) Validate() error {
	if b.Goal != "" {
		if _, err := runner.ParseBalanceGoal(string(b.Goal)); err != nil {
			return refuse("{goal}: %v", err)
		}
	}
	if b.Order != "" {
		if _, err := runner.ParseOrder(string(b.Order)); err != nil {
			return refuse("{order}: %v", err)
		}
	}
	if b.OpsInterval != 0 && b.Goal != runner.GoalOps && b.Goal != runner.GoalLoad {
		return refuse("{opsInterval} is for {goal} ops and load")
	}
	if b.LoadKind != "" && b.Goal != runner.GoalLoad {
		return refuse("{by} is for {goal} load")
	}
	if err := (Heat{LoadKind: b.LoadKind}).Validate(); err != nil {
		return err
	}
	if err := b.PreflightOptions.validate(); err != nil {
		return err
	}
	if err := b.Pace.validate(); err != nil {
		return err
	}
	return requireNamespaces(b.Namespaces, b.All)
}

// requireNamespaces returns an error if neither namespaces nor all is given, so that no collection
// changes that the user did not name.
func requireNamespaces(namespaces []string, all bool) error {
	switch {
	case len(namespaces) == 0 && !all:
		return refuse("name the collections: {ns}, or {all} for all collections")
	case len(namespaces) > 0 && all:
		return refuse("{ns} and {all} exclude each other")
	}
	return nil
}

// Run takes the lease, balances, and gives the lease back. The error is a *live.HeldError while another
// run has the lease, and a *runner.BalancerActiveError while the cluster's own balancer works on the collections.
func (b Balance) Run(ctx context.Context, c Cluster, r Reporter) (BalanceResult, error) {
	if err := b.Validate(); err != nil {
		return BalanceResult{}, err
	}
	c, err := c.withTimeZone(b.TimeZone)
	if err != nil {
		return BalanceResult{}, err
	}
	reporter := &serialReporter{next: r}
	if c.SimulatesChanges {
		if err := c.sendFirstWrite(ctx); err != nil {
			return BalanceResult{}, err
		}
		b.DryRun = true
	}
	if b.Pace, err = c.limitPace(b.Pace); err != nil {
		return BalanceResult{}, err
	}
	if !b.DryRun && !b.PreflightOnly {
		if err := c.checkPermittedNow(ctx,
			consent.Request{Verb: "balance", Namespaces: b.Namespaces, All: b.All}); err != nil {
			return BalanceResult{}, err
		}
	}
	read, foreseen, err := b.preview(ctx, c, reporter)
	if err != nil && (!b.PreflightOnly || read == nil) {
		return foreseen, err
	}
	report, looked := b.preflight(ctx, c, read, foreseen.Plan, err)
	if b.PreflightOnly || looked != nil {
		return BalanceResult{Preflight: &report}, looked
	}
	if b.WaitForLease > 0 {
		report = report.Without(diagnosis.LeaseHeld)
	}
	if err := checkObstacles(report, b.DryRun, reporter); err != nil || b.DryRun {
		return foreseen, err
	}
	question := "Apply it?"
	if foreseen.OpsPreview != nil || foreseen.Heat != nil {
		question = "Balance it?"
	}
	if err := b.confirm(ctx, question); err != nil {
		return BalanceResult{}, err
	}
	c, ended, err := c.beginAudited(ctx, runStart{verb: "balance", namespaces: b.Namespaces})
	if err != nil {
		return BalanceResult{}, err
	}
	result, err := b.balance(ctx, c, foreseen.Plan, reporter)
	err = c.withRoles(ctx, err)
	return result, ended(result.Stopped, err)
}

// sendFirstWrite sends the first write of a run, so that a guard can refuse the run.
func (c Cluster) sendFirstWrite(ctx context.Context) error {
	_, err := c.runner().RunCommand(ctx, live.LeaseDatabase, bson.D{
		{Key: "findAndModify", Value: live.LeaseCollection}, {Key: "query", Value: bson.D{{Key: "_id", Value: "engine"}}},
		{Key: "update", Value: bson.D{}},
	})
	if err != nil {
		return &NoAnswerError{err}
	}
	return nil
}

// preflight runs the preflight checks of a run, with its plan if there is one.
func (b Balance) preflight(ctx context.Context, c Cluster, read *catalog.Snapshot, p *plan.Plan, noPlan error) (
	preflight.Report, error) {
	return c.preflight(ctx, b.PreflightOptions, preflight.Run{
		Verb: "balance", Plan: p, Namespaces: b.Namespaces, PauseBalancing: b.PauseBalancing, ForceJumbo: b.ForceJumbo,
		Limited: true, // a single chunk cannot prevent the goal
	}, read, noPlan)
}

// preview returns what a run would do, if that is to be shown, and the snapshot from which it was
// computed.
func (b Balance) preview(ctx context.Context, c Cluster, r *serialReporter) (
	s *catalog.Snapshot, result BalanceResult, err error) {
	shown := b.DryRun || b.Confirm != nil
	if b.Goal == runner.GoalLoad {
		if !shown || b.PreflightOnly {
			return nil, result, nil
		}
		result.Heat, err = b.previewLoad(ctx, c, r)
		return nil, result, err
	}
	if b.Goal == runner.GoalOps {
		if !shown || b.PreflightOnly {
			return nil, result, nil
		}
		load, err := b.previewOps(ctx, c)
		if err != nil {
			return nil, result, err
		}
		r.Report(OpsCounted{load})
		result.OpsPreview = &load
		return nil, result, nil
	}
	if !shown && !b.PlanFirst && !b.PreflightOnly && !b.ForceJumbo { // the preview is needed before the run
		return nil, result, nil
	}
	if s, err = c.withDiskLimit(b.DiskLimit).snapshot(ctx, b.Namespaces, r); err != nil {
		return nil, result, err
	}
	if result.Plan, err = c.compute(func() (*plan.Plan, error) { return b.plan(s) }); err != nil || b.PreflightOnly {
		return s, result, err
	}
	if shown && !b.PauseBalancing {
		if busy := runner.CheckBalancerIdle(s, result.Plan.Goal.Namespaces, b.MaxDuration); busy != nil {
			r.Report(CannotStartYet{busy})
		}
	}
	r.Report(Planned{result.Plan})
	return s, result, nil
}

// plan returns the plan that a run would follow on a cluster.
func (b Balance) plan(s *catalog.Snapshot) (*plan.Plan, error) {
	names, err := b.names(s)
	if err != nil {
		return nil, err
	}
	parts := s.Parts()
	if version := b.Goal.PolicyRelease(s.Release()); version != parts.Release {
		parts.Release, parts.Settings.Release = version, version
	}
	parts.Settings.AutoMerge = false
	return plan.Make(catalog.NewSnapshot(parts), plan.Options{
		Goal:   plan.Goal{Kind: plan.Balance, Namespaces: names},
		Limits: plan.Limits{Bytes: b.maxBytes(), Moves: b.maxMoves(), Time: b.MaxDuration, Disk: b.DiskLimit}, Seed: b.Seed,
		IgnoreWindow: true, IgnoreJumboFlags: b.ForceJumbo,
	})
}

// names returns the collections that a run balances.
func (b Balance) names(s *catalog.Snapshot) ([]string, error) {
	names, err := plan.MatchNamespaces(s, b.Namespaces)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(runner.WithoutServerOwned(names, b.Namespaces), func(ns string) bool {
		return s.Collection(ns).NoBalance && !plan.IsNamedInFull(b.Namespaces, ns)
	})
	if len(names) == 0 {
		return nil, errors.New("no sharded collection to balance; name a collection whose balancing is off")
	}
	return names, nil
}

// balance executes the run.
func (b Balance) balance(ctx context.Context, c Cluster, p *plan.Plan, r *serialReporter) (BalanceResult, error) {
	rules := b.rules()
	rules.CoolDown = b.CoolDown
	var lease atomic.Pointer[live.LeasedCluster]
	gate, leave, err := b.newGate(ctx, c, rules, false, r, &lease)
	if err != nil {
		return BalanceResult{}, err
	}
	defer leave()
	r.Report(Started{gate, commentFunc(&lease)})
	result, err := b.acquireAndRun(ctx, c, &lease, r, runner.Options{
		Namespaces:     b.Namespaces,
		Goal:           b.Goal,
		Order:          b.Order,
		Parallel:       b.Parallel,
		PauseBalancing: b.PauseBalancing,
		Rand:           randomSource(b.Seed),
		Gate:           gate,
		MaxTime:        b.MaxDuration,
		CoolDown:       b.CoolDown,
		OpsInterval:    b.OpsInterval,
		Clock:          c.Clock,
		LoadKind:       b.LoadKind,
		ReadHeat:       func(ctx context.Context, names []string) ([]heat.Map, error) { return b.readHeat(ctx, c, names) },
		DiskLimit:      b.DiskLimit,
		ReadVolumes:    live.NewVolumeReader(live.NewCommandRunner(c.Client), b.DiskLimit).Read,
		MovesContext:   b.AbortContext,
		ForceJumbo:     b.ForceJumbo,
		OnEvent: func(e runner.Event) {
			if p != nil {
				gate.SetRemaining(pace.Remaining{
					Bytes: max(0, p.Totals.Bytes-e.Done.Bytes), Steps: max(0, p.Totals.Moves-e.Done.Moves),
				})
			}
			r.Report(EngineEvent{e})
		},
	})
	return balanceResult(result, err), err
}

func (b Balance) acquireAndRun(
	ctx context.Context, c Cluster, taken *atomic.Pointer[live.LeasedCluster], r *serialReporter, o runner.Options,
) (runner.Result, error) {
	lease, err := b.acquire(ctx, c, r)
	if err != nil {
		return runner.Result{}, err
	}
	taken.Store(lease)
	if left := lease.PausedCollections(); len(left) > 0 {
		r.note(fmt.Sprintf("An earlier run left the balancing of %s off: "+
			"it is switched on again when this run ends.", humanize.AbbreviateCollections(left)))
	}
	hard := b.AbortContext
	if hard == nil {
		hard = context.WithoutCancel(ctx)
	}
	done := stopMovesOn(hard, b.StopMoves, lease, r)
	result, err := runner.Run(ctx, lease, o)
	done()
	addWhoEnabled(ctx, lease, err)
	if hard.Err() != nil {
		r.note(serversContinueText(lease))
	}
	off := lease.PausedCollections()
	lease.OnRestoreProgress = restoreProgress(r)
	ended := lease.EndRun(ctx, b.AbortContext)
	noteRestored(r, lease, off)
	return result, errors.Join(err, ended)
}

// acquire takes the lease, and waits for it if WaitForLease is set.
func (b Balance) acquire(ctx context.Context, c Cluster, r *serialReporter) (*live.LeasedCluster, error) {
	doing := "balance all collections"
	if len(b.Namespaces) > 0 {
		doing = "balance " + strings.Join(b.Namespaces, " ")
	}
	const between = 5 * time.Second
	for waited := time.Duration(0); ; waited += between {
		l, err := c.acquire(ctx, c.runner(), doing, false)
		if err == nil && l.restoredNote != "" {
			r.note(l.restoredNote)
		}
		if !errors.As(err, new(*live.HeldError)) || waited >= b.WaitForLease {
			return l.lease, err
		}
		if waited == 0 {
			r.note(fmt.Sprintf("Waiting: %v.", err))
		}
		if err := c.Clock.Sleep(ctx, between); err != nil {
			return nil, err
		}
	}
}

// randomSource returns the random source of a mock's balancer with this seed; nil for 0.
func randomSource(seed uint64) *rand.Rand {
	const firstTerm = 1
	if seed == 0 {
		return nil
	}
	return balancer.NewRand(seed, firstTerm)
}
