package apply

import (
	"context"
	"errors"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/plan"
)

// pauses are how long to wait before what failed in passing is tried again.
func pauses() []time.Duration {
	return []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second}
}

// passing are the codes of errors that may be gone a moment later.
func passing() []mongoerr.Code {
	return []mongoerr.Code{
		mongoerr.HostUnreachable, mongoerr.HostNotFound, mongoerr.LockTimeout, mongoerr.LockBusy,
		mongoerr.NetworkTimeout, mongoerr.ShutdownInProgress, mongoerr.OperationFailed, mongoerr.WriteConflict,
		mongoerr.ConflictingOperationInProgress, mongoerr.FailedToSatisfyReadPreference, mongoerr.PrimarySteppedDown,
		mongoerr.BalancerInterrupted, mongoerr.NetworkInterfaceExceededTimeLimit, mongoerr.ExceededTimeLimit,
		mongoerr.ChunkRangeCleanupPending, mongoerr.StaleConfig, mongoerr.StaleEpoch, mongoerr.StaleDbVersion,
		mongoerr.MaxTimeMSExpired, mongoerr.NotWritablePrimary, mongoerr.LegacyNotPrimary,
		mongoerr.NotPrimaryOrSecondary, mongoerr.InterruptedAtShutdown, mongoerr.InterruptedDueToReplStateChange,
		mongoerr.MigrationConflict, mongoerr.TemporarilyUnavailable, mongoerr.SocketException,
		mongoerr.AddOrRemoveShardInProgress,
	}
}

// isPassing reports whether an error may be gone a moment later. Those that no
// server sent are of the way there.
func isPassing(err error) bool {
	var refused *mongoerr.ServerError
	if !errors.As(err, &refused) {
		return true
	}
	return !refused.NoCode && slices.Contains(passing(), refused.Code)
}

// look reads the cluster, more than once where the way there fails.
func (r *run) look(ctx context.Context) (s *catalog.Snapshot, err error) {
	for _, pause := range append(pauses(), 0) {
		s, err = r.cluster.Look(ctx, r.namespaces)
		if err == nil || !isPassing(err) || ctx.Err() != nil || r.hard.Err() != nil {
			return s, err
		}
		if r.o.Clock.Sleep(ctx, pause) != nil {
			return nil, err
		}
	}
	return s, err
}

// carry sends the commands of a step. After any error the cluster is asked
// whether the step is done all the same; if not, one that may pass has the rest
// sent again.
func (r *run) carry(ctx context.Context, s plan.Step, t todo, outcomes chan<- outcome) error {
	for _, pause := range append(pauses(), 0) {
		err := r.send(t.commands)
		if err == nil {
			return nil
		}
		err = &StepError{s, err}
		if r.hard.Err() != nil {
			return err
		}
		now, checkErr := r.recheck(s)
		switch {
		case checkErr == nil && len(now.commands) == 0:
			return nil
		case errors.As(checkErr, new(*ChangedError)):
			return checkErr
		case !isPassing(err) || ctx.Err() != nil || pause == 0:
			return err
		case checkErr == nil:
			t = now
		}
		outcomes <- outcome{step: s, err: err, again: true}
		if r.o.Clock.Sleep(ctx, pause) != nil {
			return err
		}
	}
	return nil // not reached: the last pause is 0
}

func (r *run) send(commands []Command) error {
	for _, c := range commands {
		if err := r.cluster.Do(r.hard, c); err != nil {
			return err
		}
	}
	return nil
}

// recheck asks what is left of a step that has begun.
func (r *run) recheck(s plan.Step) (todo, error) {
	look, err := r.cluster.Look(r.hard, r.namespaces)
	if err != nil {
		return todo{}, err
	}
	return r.ground(look).check(r.hard, s)
}
