package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// BalancerConflictError says that the cluster's own balancer works on collections of a plan, or will start to
// do so before the plan is done.
type BalancerConflictError struct {
	Namespaces []string
	// OpensAt is the time at which the balancer's window opens; zero if the balancer works now.
	OpensAt time.Time
	// UnresolvedWindow is the balancer's window if the window's time zone is unknown. OpensAt is then
	// the latest time at which the window can open. It is empty if the time zone is known.
	UnresolvedWindow string
	// InForbiddenRound says that the balancer is in a round although its window is closed.
	InForbiddenRound bool
	// Reenabled says that the run had disabled the balancing of the collections, and that another
	// client has enabled it or started the balancer. ReenabledBy names the client, if the logs tell.
	Reenabled   bool
	ReenabledBy string
	// Defragmenting contains the collections of Namespaces that are being defragmented. A
	// defragmentation continues even if the balancing of its collection is disabled.
	Defragmenting []string
}

// Summary says what the balancer does, without a remedy.
func (e *BalancerConflictError) Summary() string {
	what := "the cluster's balancer is on and balances "
	switch {
	case e.InForbiddenRound:
		what = "the cluster's balancer is in a round, although its window is closed, and balances "
	case e.UnresolvedWindow != "":
		what = fmt.Sprintf("the cluster's balancer is on, its window is %s, so that it may be open before this ends, "+
			"and it balances ", e.UnresolvedWindow)
	case !e.OpensAt.IsZero():
		what = fmt.Sprintf("the cluster's balancer is on, its window opens at %s, before this ends, and it "+
			"balances ", e.OpensAt.UTC().Format(time.RFC3339))
	}
	return what + humanize.AbbreviateCollections(e.Namespaces)
}

// markReenabled marks the error if this run had disabled balancing and another client has enabled it
// again.
func (r *run) markReenabled(err error) error {
	if e, ok := errors.AsType[*BalancerConflictError](err); ok {
		e.Reenabled = r.o.PauseBalancing && len(e.Defragmenting) == 0
	}
	return err
}

// Error returns the text with a remedy. Options are written as in the shell.
func (e *BalancerConflictError) Error() string {
	return e.text(`timeZone: "Europe/Berlin"`, "pauseBalancing: true")
}

// SpellOptions returns the text with the names of options as on a command line.
func (e *BalancerConflictError) SpellOptions(spell func(option string) string) string {
	return e.text(spell("timeZone")+" Europe/Berlin", spell("pauseBalancing"))
}

func (e *BalancerConflictError) text(timeZone, pauseBalancing string) string {
	if e.Reenabled {
		return fmt.Sprintf(
			"another client has enabled the balancing of %s%s, which this run had disabled, so the run was stopped. "+
				"To go on, resume the run or start it again as before: that disables it again",
			humanize.AbbreviateCollections(e.Namespaces), e.ReenabledBy)
	}
	remedy := []string{"sh.stopBalancer()"}
	const few = 4
	for i, ns := range e.Namespaces {
		if i == few {
			remedy = append(remedy, fmt.Sprintf("the same for %d more", len(e.Namespaces)-few))
			break
		}
		if slices.Contains(e.Defragmenting, ns) {
			remedy = append(remedy, fmt.Sprintf("sh.stopDefragment(%q)", ns))
		} else {
			remedy = append(remedy, fmt.Sprintf("sh.disableBalancing(%q)", ns))
		}
	}
	text := e.Summary() + ": "
	if e.UnresolvedWindow != "" {
		text += "name the time zone of the config servers (" + timeZone + "), or "
	}
	text += remedy[0] + ", or " + strings.Join(remedy[1:], " and ")
	if len(e.Defragmenting) == 0 {
		text += "; or pause the balancing of these collections for the run (" + pauseBalancing + ")"
	}
	return text
}

// CheckBalancerIdle returns a *BalancerConflictError if the balancer would work on one of the collections now
// or within a time.
func CheckBalancerIdle(s *catalog.Snapshot, namespaces []string, within time.Duration) error {
	p := s.Parts()
	if p.Balancer.Mode != catalog.ModeFull {
		return nil
	}
	opening := s.NextOpening()
	if opening.Never || opening.Earliest.After(p.Time.Add(within)) {
		return nil
	}
	e := newBalancerConflictError(s, namespaces)
	if len(e.Namespaces) == 0 {
		return nil
	}
	switch {
	case !opening.IsExact():
		e.UnresolvedWindow, e.OpensAt = s.WindowText(), opening.Latest
	case opening.Earliest.After(p.Time):
		e.OpensAt = opening.Earliest
	}
	return e
}

// CheckBalancerIdleTwice returns a *BalancerConflictError if the balancer would work on one of the
// collections now or within a time, or if it is in a round although its settings forbid that. In the
// latter case its clock differs from ours, or an earlier round is still running. look is the snapshot
// that was read. Each iteration of the balancer's loop counts as a round, for a few milliseconds every
// ten seconds, so the state is read twice.
func CheckBalancerIdleTwice(
	ctx context.Context, c SnapshotReader, look *catalog.Snapshot, namespaces []string, within time.Duration, clock Clock,
) error {
	err := CheckBalancerIdle(look, namespaces, within)
	if err != nil || !look.Parts().Balancer.InRound {
		return err
	}
	busy := newBalancerConflictError(look, namespaces)
	if len(busy.Namespaces) == 0 {
		return nil
	}
	if err := clock.Sleep(ctx, roundPollInterval); err != nil {
		return context.Cause(ctx)
	}
	if look, err = c.Snapshot(ctx, namespaces); err != nil {
		return err
	}
	if look.Parts().Balancer.InRound {
		busy.InForbiddenRound = true
		return busy
	}
	return nil
}

// newBalancerConflictError returns an error with the collections among namespaces that the balancer may move.
func newBalancerConflictError(s *catalog.Snapshot, namespaces []string) *BalancerConflictError {
	e := &BalancerConflictError{}
	for _, ns := range namespaces {
		c := s.Collection(ns)
		switch {
		case c == nil:
		case c.Defragment && s.Release().BalancesBySize():
			e.Namespaces, e.Defragmenting = append(e.Namespaces, ns), append(e.Defragmenting, ns)
		case c.BalanceableIn(s.Release()):
			e.Namespaces = append(e.Namespaces, ns)
		}
	}
	return e
}

// maxRoundWait is the maximum wait for the end of a round in progress. roundPollInterval is the
// interval at which the balancer's state is read.
const (
	maxRoundWait      = 30 * time.Minute
	roundPollInterval = time.Second
)

// pauseBalancing switches off the balancing of collections where it is on, and waits for the end of the
// round that may have chosen migrations of these collections already.
func (r *run) pauseBalancing(ctx context.Context, s *catalog.Snapshot) (*catalog.Snapshot, error) {
	var on []string
	for _, ns := range r.namespaces {
		c := s.Collection(ns)
		if c == nil || c.NoBalance || slices.Contains(r.paused, ns) {
			continue
		}
		if err := r.write(Record{What: recordBalancingOff, Namespace: ns}); err != nil {
			return nil, err
		}
		r.paused, on = append(r.paused, ns), append(on, ns)
	}
	if len(on) > 0 {
		if err := r.cluster.SetBalancing(r.hardCtx, on, false); err != nil {
			return nil, err
		}
		r.emitBalancingSwitched(BalancingPaused, on)
	}
	if r.o.DryRun {
		return r.cluster.Snapshot(ctx, r.namespaces)
	}
	return AwaitRoundEnd(ctx, r.cluster, r.namespaces, r.o.Clock)
}

// AwaitRoundEnd waits for the end of a round of the balancer that is in progress: the round still
// executes the migrations that it has chosen, even after the collections are switched off.
func AwaitRoundEnd(ctx context.Context, c SnapshotReader, namespaces []string, clock Clock) (*catalog.Snapshot, error) {
	first, err := c.Snapshot(ctx, namespaces)
	if err != nil {
		return first, err
	}
	for now, waited := first, time.Duration(0); ; waited += roundPollInterval {
		began, state := first.Parts().Balancer, now.Parts().Balancer
		if !state.InRound || state.Rounds != began.Rounds {
			return now, nil
		}
		if waited >= maxRoundWait {
			return nil, &BlockedError{"the balancer's round has not ended for " + maxRoundWait.String(), "sh.stopBalancer()"}
		}
		if err := clock.Sleep(ctx, roundPollInterval); err != nil {
			return nil, context.Cause(ctx)
		}
		if now, err = c.Snapshot(ctx, namespaces); err != nil {
			return nil, err
		}
	}
}

// resumeBalancing switches on the balancing that the run has switched off.
func (r *run) resumeBalancing() error {
	if len(r.paused) == 0 {
		return nil
	}
	if err := r.cluster.SetBalancing(r.hardCtx, r.paused, true); err != nil {
		return err
	}
	on := slices.Clone(r.paused)
	for _, ns := range on {
		if err := r.write(Record{What: recordBalancingOn, Namespace: ns}); err != nil {
			return err
		}
		r.paused = r.paused[1:]
	}
	r.emitBalancingSwitched(BalancingResumed, on)
	return nil
}

// emitBalancingSwitched emits the event that balancing was switched on or off. A dry run only shows the
// commands.
func (r *run) emitBalancingSwitched(kind EventKind, namespaces []string) {
	if !r.o.DryRun {
		r.emit(Event{Kind: kind, Namespaces: namespaces})
	}
}
