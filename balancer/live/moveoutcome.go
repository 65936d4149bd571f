package live

import (
	"cmp"
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
)

// UnansweredMove is a move whose command got no answer.
type UnansweredMove struct {
	Namespace string
	To        catalog.ShardID
	// Min and Max are the bounds in the command. Find is the query in the command instead of bounds.
	// They are nil if not set.
	Min, Max, Find bson.Raw
	// LogBefore is the end of the change log before the command was sent.
	LogBefore LogPosition
}

// MoveState is the outcome of a move.
type MoveState string

// These are the states.
const (
	MoveDone       MoveState = "done"
	MoveFailed     MoveState = "failed"
	MoveRunning    MoveState = "in progress"
	MoveNotStarted MoveState = "not started"
)

// MoveOutcome is a MoveState with its details.
type MoveOutcome struct {
	State MoveState
	Owner catalog.ShardID // of the range, now
	Error string          // of a failed move, as logged by the donor
}

// ReadMoveOutcome determines the outcome of a move from the owner of the range, the operations in
// progress, and the donor's entries in config.changelog.
func ReadMoveOutcome(ctx context.Context, a CommandRunner, m UnansweredMove) (MoveOutcome, error) {
	d, err := NewExecutor(ctx, a)
	if err != nil {
		return MoveOutcome{}, err
	}
	coll, err := d.readCollection(ctx, m.Namespace)
	if mongoerr.Is(err, mongoerr.NamespaceNotFound) {
		return MoveOutcome{State: MoveFailed, Error: m.Namespace + " is no longer sharded"}, nil
	}
	if err != nil {
		return MoveOutcome{}, err
	}
	chunk, err := d.readChunkOfMove(ctx, coll, m)
	if err != nil {
		return MoveOutcome{}, err
	}
	outcome := MoveOutcome{State: MoveDone, Owner: chunk.Shard}
	if chunk.Shard == m.To {
		return outcome, nil
	}
	running, err := d.isMoveRunning(ctx, coll, chunk, m)
	if err != nil {
		return outcome, err
	}
	if running {
		outcome.State = MoveRunning
		return outcome, nil
	}
	outcome.State, outcome.Error, err = d.readLoggedOutcome(ctx, coll, chunk, m)
	return outcome, err
}

// readChunkOfMove returns a chunk that contains a key of the moved range.
func (d *Executor) readChunkOfMove(
	ctx context.Context,
	coll catalog.Collection,
	m UnansweredMove,
) (catalog.Chunk, error) {
	if m.Min == nil && m.Find == nil {
		return d.readChunkBelow(ctx, coll, m.Max)
	}
	key, err := coll.Pattern.ExtendBound(m.Min)
	if m.Find != nil {
		var known bool
		if key, known = coll.Pattern.QueryKey(m.Find); !known {
			err = mongoerr.New(mongoerr.InvalidOptions, "the query %s does not have the shard key %s",
				humanize.Literal(m.Find), coll.Pattern)
		}
	}
	if err != nil {
		return catalog.Chunk{}, err
	}
	return d.readChunkAt(ctx, coll, key)
}

// readChunkBelow returns the chunk that ends at a bound or contains it.
func (d *Executor) readChunkBelow(ctx context.Context, coll catalog.Collection, bound bson.Raw) (catalog.Chunk, error) {
	key, err := coll.Pattern.ExtendBound(bound)
	if err != nil {
		return catalog.Chunk{}, err
	}
	docs, err := d.findInConfig(ctx, "chunks",
		bson.D{coll.ChunkFilter(), {Key: "min", Value: bson.D{{Key: "$lt", Value: coll.Pattern.Bound(key)}}}},
		sortBy("min", -1), bson.E{Key: "limit", Value: 1})
	if err != nil {
		return catalog.Chunk{}, err
	}
	if len(docs) == 0 {
		return catalog.Chunk{}, mongoerr.New(mongoerr.InvalidOptions, "%s has no chunk below %s", coll.Namespace,
			humanize.Literal(bound))
	}
	return catalog.ParseChunk(coll.Pattern, docs[0])
}

// isMoveRunning reports whether the move is in progress, according to the shards or, in old releases,
// the config server.
func (d *Executor) isMoveRunning(
	ctx context.Context, coll catalog.Collection, chunk catalog.Chunk, m UnansweredMove,
) (bool, error) {
	seen, err := NewCommandReader(d.commands,
		ReaderOptions{Parts: RunningMigrations, Release: d.routerRelease, MaxShardWait: time.Minute}).Read(ctx)
	if err != nil {
		return false, ServerError(err)
	}
	for _, running := range seen.Parts().Migrations {
		if running.Namespace == m.Namespace && cmp.Or(running.To, m.To) == m.To &&
			(running.Min == nil || containsBound(coll, chunk, running.Min)) {
			return true, nil
		}
	}
	return false, nil
}

// containsBound reports whether a chunk contains a bound: the range of a move begins inside its chunk.
func containsBound(coll catalog.Collection, chunk catalog.Chunk, bound bson.Raw) bool {
	key, err := coll.Pattern.ExtendBound(bound)
	return err == nil && !key.Less(chunk.Min) && key.Less(chunk.Max)
}

// maxOutcomeEntries is the maximum number of change log entries that are read for a move. Each move
// writes five entries.
const maxOutcomeEntries = 2000

// readLoggedOutcome reads the log entries since the command was sent. A donor whose operation was
// killed can't write an entry; in that case the recipient writes one.
func (d *Executor) readLoggedOutcome(
	ctx context.Context, coll catalog.Collection, chunk catalog.Chunk, m UnansweredMove,
) (MoveState, string, error) {
	docs, err := d.listDocs(ctx, "config", newestFirstCommand("changelog", bson.D{}, maxOutcomeEntries))
	if err != nil {
		return "", "", err
	}
	aborted := ""
	for _, doc := range docs {
		if doc.Lookup("_id").Equal(m.LogBefore.id) {
			break
		}
		if text(doc, "ns") != m.Namespace || text(doc, "details", "to") != string(m.To) {
			continue
		}
		lower := document(doc, "details", "min") // empty if the donor refused the move early
		if bounds, _ := lower.Elements(); len(bounds) > 0 && !containsBound(coll, chunk, lower) {
			continue
		}
		what, note := text(doc, "what"), text(doc, "details", "note")
		switch {
		case what == "moveChunk.start" && aborted == "":
			return MoveRunning, "", nil
		case what == "moveChunk.start":
			return MoveFailed, aborted, nil
		case what == "moveChunk.to" && note != "success":
			aborted = cmp.Or(text(doc, "details", "errmsg"), "the recipient aborted it")
		case what == "moveChunk.from" && note == "success":
			return MoveDone, "", nil // another move followed
		case what == "moveChunk.from":
			return MoveFailed, cmp.Or(text(doc, "details", "errmsg"), "the donor aborted it"), nil
		}
	}
	return MoveNotStarted, "", nil
}
