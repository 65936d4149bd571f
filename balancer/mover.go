package balancer

import (
	"context"
	"fmt"
	"slices"

	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Mover runs long operations and waits for them.
type Mover interface {
	// Move runs one migration to its end (rules/01-rounds-and-settings §1.6). It blocks. A migration
	// with ReasonUnsharded moves a whole unsharded collection.
	Move(ctx context.Context, m policy.Migration) error

	// Act runs one streaming action to its end (rules/02-defragmentation-and-merging §4.2). It blocks.
	Act(ctx context.Context, a policy.StreamAction) policy.StreamActionResult
}

// migrate runs the chosen migrations in parallel (in releases before 3.4 one after the other), and
// counts the migrations that moved something (rules/01-rounds-and-settings §1.6).
func (l *Loop) migrate(candidates []policy.Migration, details *roundDetails) error {
	batch := len(candidates)
	if !l.cfg.Release.HasConfigServerBalancer() {
		batch = 1
	}
	for chosen := range slices.Chunk(candidates, batch) {
		if !l.mayBalance() {
			l.reportDisabled()
			l.returnUnsent(chosen)
			return nil
		}
		results, err := l.runBatch(chosen)
		if err != nil {
			return err
		}
		for i, moveErr := range results {
			if err := l.handleMigrationResult(chosen[i], moveErr, details); err != nil {
				return err
			}
		}
	}
	return nil
}

// runBatch yields one batch and returns how each of its migrations ended.
func (l *Loop) runBatch(batch []policy.Migration) ([]error, error) {
	result, resumed := l.yield(Moves{Migrations: batch})
	if !resumed {
		return nil, errTerminated
	}
	results, ok := result.([]error)
	if !ok || len(results) != len(batch) {
		return nil, fmt.Errorf("balancer: %d moves were resumed with %T of %v, not with an error for each",
			len(batch), result, result)
	}
	return results, nil
}

// returnUnsent returns migrations that were not sent to the defragmentations that chose them. Otherwise
// the defragmentations would wait for their results forever after the balancer is switched on again.
func (l *Loop) returnUnsent(chosen []policy.Migration) {
	for _, m := range chosen {
		if m.Reason == policy.ReasonDefragmentation {
			l.defragmentations.migrationDone(m, mongoerr.New(mongoerr.InterruptedAtShutdown,
				"the balancer was switched off before the migration was sent"))
		}
	}
}

// handleMigrationResult processes the result of one migration.
func (l *Loop) handleMigrationResult(m policy.Migration, moveErr error, details *roundDetails) error {
	if m.Reason == policy.ReasonDefragmentation {
		l.defragmentations.migrationDone(m, moveErr)
		l.streams.wake()
	}
	switch {
	case moveErr == nil && m.Reason == policy.ReasonUnsharded:
		details.unsharded.moved++
	case moveErr == nil:
		details.moved++
	case m.Reason == policy.ReasonDefragmentation:
		// The phase of the defragmentation decides what follows.
		l.cache.remove(m.Namespace)
	case m.Reason != policy.ReasonUnsharded && policy.IsTooBig(moveErr):
		// A handled migration counts as moved, whether or not handling it succeeded (rules/01-selection
		// §10.1).
		l.cfg.Logger.Info("too much to move, the chunk is split or flagged", "id", 21871, "ns", m.Namespace,
			"from", m.From, "to", m.To, "error", moveErr)
		if err := l.handleTooBig(m); err != nil {
			return err
		}
		details.moved++
	case m.Reason != policy.ReasonUnsharded && mongoerr.Is(moveErr, mongoerr.IndexNotFound) && l.handleLostHashedIndex(m):
		l.cache.remove(m.Namespace)
	default:
		l.cfg.Logger.Info("migration failed", "id", 21872, "ns", m.Namespace, "from", m.From, "to", m.To, "error", moveErr)
		l.cache.remove(m.Namespace)
	}
	return nil
}
