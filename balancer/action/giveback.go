package action

import (
	"context"
	"fmt"
	"time"

	"shardsh/balancer/consent"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
)

// GiveBack enables the balancing that a run has disabled and that the run has not enabled again at its
// end. It takes the lease for that; the lease of a run that is gone is taken as soon as that is
// certain.
type GiveBack struct {
	// DryRun only reads which collections are still disabled.
	DryRun bool
	// AbortContext ends when the user does not want to wait any more; nil never ends.
	AbortContext context.Context
}

// GiveBackResult is the result of GiveBack.
type GiveBackResult struct {
	Event string `json:"event"` // "result"
	// Enabled are the collections whose balancing was enabled, or would be enabled. Kept are the
	// collections that stay disabled because another user has disabled them as well.
	Enabled []string `json:"enabled"`
	Kept    []string `json:"kept"`
	DryRun  bool     `json:"dryRun,omitzero"`
	Error   string   `json:"error,omitzero"`
}

// Run enables the balancing. The error is a *live.HeldError while the run that has disabled the
// balancing is in progress.
func (g GiveBack) Run(ctx context.Context, c Cluster, r Reporter) (result GiveBackResult, err error) {
	reporter := &serialReporter{next: r}
	result = GiveBackResult{Event: "result", Enabled: []string{}, Kept: []string{}, DryRun: g.DryRun || c.SimulatesChanges}
	if c.SimulatesChanges {
		if err := c.sendFirstWrite(ctx); err != nil {
			return result, err
		}
	}
	left, err := live.ReadPausedCollections(ctx, c.Client)
	if err != nil {
		return result, &NoAnswerError{err}
	}
	if len(left) == 0 && !result.DryRun {
		return result, c.releaseLeftoverLease(ctx)
	}
	if result.DryRun {
		for _, p := range left {
			result.Enabled = append(result.Enabled, p.Namespace)
		}
		return result, nil
	}
	waits := func(held *live.HeldError) {
		reporter.note(fmt.Sprintf("Waiting up to a minute, to see whether that run is alive: %s.", held.Holder))
	}
	c, ended, err := c.beginAudited(ctx, runStart{verb: consent.VerbGiveBack})
	if err != nil {
		return result, err
	}
	defer func() { err = ended("", err) }()
	lease, err := live.AcquireAbandoned(ctx, c.Client, c.runner(), live.NewHolder("enabling balancing again"), waits)
	if err != nil {
		return result, err
	}
	before := lease.PausedCollections()
	lease.OnRestoreProgress = restoreProgress(reporter)
	err = lease.EndRun(ctx, g.AbortContext)
	result.Enabled, result.Kept = restoredAndKept(lease, before)
	if err != nil {
		result.Error = err.Error()
	}
	return result, err
}

// restoredAndKept returns the collections whose balancing a lease has enabled again, and those that it
// has left disabled.
func restoredAndKept(lease *live.LeasedCluster, before []string) (enabled, kept []string) {
	enabled, kept = []string{}, append([]string{}, lease.DisabledByOthers()...)
	not := map[string]bool{}
	for _, ns := range append(lease.PausedCollections(), kept...) {
		not[ns] = true
	}
	for _, ns := range before {
		if !not[ns] {
			enabled = append(enabled, ns)
		}
	}
	return enabled, kept
}

// restoreProgress returns a function that reports the progress of restoring from time to time.
func restoreProgress(r *serialReporter) func(done, of int) {
	const quiet = 5 * time.Second
	last := time.Now()
	return func(done, of int) {
		if time.Since(last) < quiet {
			return
		}
		last = time.Now()
		r.note(fmt.Sprintf("Enabling balancing again: %d of %s.", done, humanize.Count(int64(of), "collection")))
	}
}

// noteRestored reports what was restored and what was not.
func noteRestored(r *serialReporter, lease *live.LeasedCluster, before []string) {
	enabled, kept := restoredAndKept(lease, before)
	if len(enabled) > 0 {
		r.note(fmt.Sprintf("Balancing of %s is on again.", humanize.AbbreviateCollections(enabled)))
	}
	if len(kept) > 0 {
		r.note(
			fmt.Sprintf("Balancing of %s stays disabled: another user disabled it during the run.",
				humanize.AbbreviateCollections(kept)),
		)
	}
}
