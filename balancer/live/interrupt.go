package live

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// MoveStop is a move of this process whose donor was asked to stop it.
type MoveStop struct {
	Namespace string
	From, To  catalog.ShardID
	// Answered says that the command of the move has answered, with Err.
	Answered bool
	Err      error
}

// Stopped reports whether the donor has stopped the move.
func (s MoveStop) Stopped() bool { return s.Answered && mongoerr.Is(s.Err, mongoerr.Interrupted) }

// errStopping is the error for moves of a run that is being stopped.
var errStopping = mongoerr.New(mongoerr.Interrupted, "no more moves are started: the run is being stopped")

// interruptPollInterval is the interval between two polls for moves to stop.
const interruptPollInterval = 200 * time.Millisecond

// Interrupt asks donors to stop the moves of this process, and prevents new moves. It returns when all
// moves have ended. It kills the donor's worker of a move; the move command, which waits for the
// worker, returns the outcome. A move that is about to be committed can't be stopped. tell is called
// for each move when its donor is asked, and when it has ended.
func (l *LeasedCluster) Interrupt(ctx context.Context, tell func(MoveStop)) error {
	l.movesMu.Lock()
	l.onMoveStop = tell
	l.movesMu.Unlock()
	for {
		left := l.movesToStop()
		if len(left) == 0 && len(l.movesUnderWay()) == 0 {
			return nil
		}
		if len(left) > 0 {
			if err := l.killWorkers(ctx, left); err != nil && !errors.As(err, new(*mongoerr.UnansweredError)) {
				return err
			}
		}
		select {
		case <-time.After(interruptPollInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// killWorkers kills the donors' worker operations of moves.
func (l *LeasedCluster) killWorkers(ctx context.Context, moves []*moveUnderWay) error {
	ops, err := l.executor.listDocs(ctx, "admin", aggregateCommand(1,
		bson.D{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: true}, {Key: "idleConnections", Value: true}}}},
		bson.D{{Key: "$match", Value: bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "desc", Value: "MoveChunk"}},
			bson.D{{Key: "command._shardsvrMoveRange", Value: bson.D{{Key: "$exists", Value: true}}}},
			bson.D{{Key: "command.moveChunk", Value: bson.D{{Key: "$exists", Value: true}}}},
		}}}}}))
	if err != nil {
		return err
	}
	for _, m := range moves {
		worker, ok := m.findWorker(ops, l.executor.comment)
		if !ok {
			continue
		}
		if err := l.kill(ctx, m, worker); err != nil {
			return err
		}
	}
	return nil
}

// kill asks a donor to stop a move. It reports the request before the end of the move.
func (l *LeasedCluster) kill(ctx context.Context, m *moveUnderWay, worker bson.RawValue) error {
	l.reportMu.Lock()
	defer l.reportMu.Unlock()
	m.stopRequested.Store(true)
	if _, err := l.executor.runCommand(ctx, "admin",
		bson.D{{Key: "killOp", Value: 1}, {Key: "op", Value: worker}}); err != nil {
		m.stopRequested.Store(false)
		return err
	}
	l.reportMoveStop(m, MoveStop{})
	return nil
}

// findWorker returns the donor's operation that executes a move. That operation does not name the
// collection. A shard donates one range at a time, so the worker belongs to this move if this move's
// command is the only one on the donor that waits for a worker.
func (m *moveUnderWay) findWorker(ops []bson.Raw, comment string) (opid bson.RawValue, found bool) {
	ours := false
	for _, op := range ops {
		if text(op, "shard") != string(m.From) {
			continue
		}
		ns := text(op, "command", "_shardsvrMoveRange")
		if ns == "" {
			ns = text(op, "command", "moveChunk")
		}
		switch {
		case text(op, "desc") == "MoveChunk":
			opid = op.Lookup("opid")
		case ns == "":
		case ns != m.Namespace || text(op, "command", "toShard") != string(m.To) && text(op, "command", "to") != string(m.To):
			return opid, false
		case text(op, "command", "comment") != "" && text(op, "command", "comment") != comment:
			return opid, false
		default:
			ours = true
		}
	}
	return opid, ours && !opid.IsZero()
}

// moveUnderWay is a move whose command has not answered yet.
type moveUnderWay struct {
	policy.Migration
	stopRequested atomic.Bool // the donor was asked to stop
}

// registerMove registers a move until ended is called with the error of its command. It returns an
// error if no move may begin.
func (l *LeasedCluster) registerMove(m policy.Migration) (ended func(error) error, err error) {
	l.movesMu.Lock()
	defer l.movesMu.Unlock()
	if l.onMoveStop != nil {
		return nil, errStopping
	}
	move := &moveUnderWay{Migration: m}
	l.moves = append(l.moves, move)
	return func(err error) error {
		l.movesMu.Lock()
		l.moves = slices.DeleteFunc(l.moves, func(other *moveUnderWay) bool { return other == move })
		l.movesMu.Unlock()
		if move.stopRequested.Load() {
			l.reportMu.Lock()
			defer l.reportMu.Unlock()
			l.reportMoveStop(move, MoveStop{Answered: true, Err: err})
		}
		return err
	}, nil
}

func (l *LeasedCluster) reportMoveStop(m *moveUnderWay, s MoveStop) {
	l.movesMu.Lock()
	tell := l.onMoveStop
	l.movesMu.Unlock()
	s.Namespace, s.From, s.To = m.Namespace, m.From, m.To
	tell(s)
}

func (l *LeasedCluster) movesUnderWay() []*moveUnderWay {
	l.movesMu.Lock()
	defer l.movesMu.Unlock()
	return slices.Clone(l.moves)
}

// movesToStop returns the moves in progress whose donors were not asked to stop them.
func (l *LeasedCluster) movesToStop() []*moveUnderWay {
	return slices.DeleteFunc(l.movesUnderWay(), func(m *moveUnderWay) bool { return m.stopRequested.Load() })
}

// Comment returns the comment of this process's moves in the operations of the servers.
func (l *LeasedCluster) Comment() string { return l.executor.comment }
