// Package balancing is what sh.balance and "shardsh balance" have in common: a run
// of our engine from taking the turn to giving it back, and how it is told of.
package balancing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// Options say what to do besides what a runner has to know.
type Options struct {
	runner.Options
	// WaitForTurn is how long the end of somebody else's turn is waited for.
	WaitForTurn time.Duration
	// Insist is closed when the moves under way are not to be waited for: the servers
	// are asked to stop them. Nil never is.
	Insist <-chan struct{}
	// Note tells people something in a line.
	Note func(text string)
	// Taken is called with the turn, once it is ours; nil does nothing.
	Taken func(*live.LeasedCluster)
}

// doing is what the lease says of a run.
func (o Options) doing() string {
	what := strings.Join(o.Namespaces, " ")
	if what == "" {
		what = "all collections"
	}
	return "balance " + what
}

// Run takes the turn, balances, and gives the turn back. The error is a
// *live.HeldError while somebody else has the turn.
func Run(ctx context.Context, client *mongo.Client, a live.CommandRunner, o Options) (runner.Result, error) {
	turn, err := takeTurn(ctx, client, a, o)
	if err != nil {
		return runner.Result{}, err
	}
	if o.Taken != nil {
		o.Taken(turn)
	}
	if left := turn.Leftover(); len(left) > 0 {
		o.Note(fmt.Sprintf("A run before this one has ended without switching the balancing of %s on again: "+
			"that is done when this one ends.", strings.Join(left, ", ")))
	}
	over := make(chan struct{})
	insisted := make(chan struct{})
	hard := cmp.Or(o.Hard, context.WithoutCancel(ctx))
	go func() {
		defer close(insisted)
		select {
		case <-o.Insist:
			Interrupt(hard, turn, o.Note)
		case <-over:
		}
	}()
	result, err := runner.Run(ctx, turn, o.Options)
	close(over)
	<-insisted
	if hard.Err() != nil {
		o.Note(GoesOn(turn))
	}
	off := turn.Leftover()
	ended := turn.Leave(ctx, o.Hard)
	if ended == nil && len(off) > 0 {
		o.Note(fmt.Sprintf("The balancing of %s is on again.", strings.Join(off, ", ")))
	}
	return result, errors.Join(err, ended)
}

// takeTurn waits for the turn, if that is asked for.
func takeTurn(ctx context.Context, client *mongo.Client, a live.CommandRunner, o Options) (*live.LeasedCluster, error) {
	const between = 5 * time.Second
	for waited := time.Duration(0); ; waited += between {
		turn, err := live.Acquire(ctx, client, a, live.Self(o.doing()))
		if !errors.As(err, new(*live.HeldError)) || waited >= o.WaitForTurn {
			return turn, err
		}
		if waited == 0 {
			o.Note(fmt.Sprintf("Waiting: %v.", err))
		}
		if err := o.Clock.Sleep(ctx, between); err != nil {
			return nil, err
		}
	}
}

// asking is how long asking the servers may take.
const asking = 30 * time.Second

// Interrupt has the servers stop the moves of a turn that are under way, and tells
// what came of it; nothing when hard has ended, as nobody waits for it any more.
func Interrupt(hard context.Context, turn *live.LeasedCluster, note func(string)) {
	ctx, cancel := context.WithTimeout(hard, asking)
	defer cancel()
	switch n, err := turn.Interrupt(ctx); {
	case hard.Err() != nil:
	case err != nil:
		note(fmt.Sprintf("The servers can't be asked to stop: %v. To see what goes on: %s", err, lookFor(turn)))
	case n == 0:
		note("No operation of ours was found: what is under way is about to end.")
	default:
		note("The servers were asked to stop what is under way. What is past its copy goes on to its end.")
	}
}

// GoesOn tells that what was under way was left to the servers, and how to look.
func GoesOn(turn *live.LeasedCluster) string {
	return "The servers go on with what was under way. To see it: " + lookFor(turn)
}

// lookFor is the command that shows the moves of a turn.
func lookFor(turn *live.LeasedCluster) string {
	return fmt.Sprintf(`db.getSiblingDB("admin").aggregate([{ $currentOp: { allUsers: true, localOps: true } }, `+
		`{ $match: { "command.comment": %q } }])`, turn.Comment())
}

// Lots are those that the balancer of a mock with this seed draws; nil for 0, which
// keeps the order of the catalog.
func Lots(seed uint64) *rand.Rand {
	const firstTerm = 1
	if seed == 0 {
		return nil
	}
	return balancer.NewRand(seed, firstTerm)
}

// Plan says what a run would do.
func Plan(s *catalog.Snapshot, o runner.Options, seed uint64, limits plan.Limits) (*plan.Plan, error) {
	names, err := plan.Namespaces(s, o.Namespaces)
	if err != nil {
		return nil, err
	}
	parts := s.Parts()
	if version := o.Goal.Version(s.Release()); version != parts.Release {
		parts.Release, parts.Settings.Release = version, version
	}
	parts.Settings.AutoMerge = false
	names = slices.DeleteFunc(runner.Ours(names, o.Namespaces), func(ns string) bool {
		return s.Collection(ns).NoBalance && !slices.Contains(o.Namespaces, ns)
	})
	if len(names) == 0 {
		return nil, errors.New("no sharded collection to balance: one that is switched off has to be named")
	}
	return plan.Make(catalog.NewSnapshot(parts), plan.Options{
		Goal:   plan.Goal{Kind: plan.Balance, Namespaces: names},
		Limits: limits, Seed: seed, IgnoreWindow: true, Parameters: o.Parameters,
	})
}
