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
	// Min and Max are the bounds of the command, Find the query in place of them; nil
	// if there was none.
	Min, Max, Find bson.Raw
	// After is the change log as it was before the command was sent.
	After LogPosition
}

// MoveState is what became of a move.
type MoveState string

// The states.
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
	Error string          // of a failed move, as the donor logged it
}

// OutcomeOfMove finds out what became of a move: from the owner of the range, the operations
// in progress, and what the donor logged in config.changelog.
func OutcomeOfMove(ctx context.Context, a CommandRunner, m UnansweredMove) (MoveOutcome, error) {
	d, err := newExecutor(ctx, a)
	if err != nil {
		return MoveOutcome{}, err
	}
	coll, err := d.collection(ctx, m.Namespace)
	if mongoerr.Is(err, mongoerr.NamespaceNotFound) {
		return MoveOutcome{State: MoveFailed, Error: m.Namespace + " is no longer sharded"}, nil
	}
	if err != nil {
		return MoveOutcome{}, err
	}
	chunk, err := d.chunkOfMove(ctx, coll, m)
	if err != nil {
		return MoveOutcome{}, err
	}
	is := MoveOutcome{State: MoveDone, Owner: chunk.Shard}
	if chunk.Shard == m.To {
		return is, nil
	}
	running, err := d.movesNow(ctx, coll, chunk, m)
	if err != nil {
		return is, err
	}
	if running {
		is.State = MoveRunning
		return is, nil
	}
	is.State, is.Error, err = d.loggedOutcome(ctx, coll, chunk, m)
	return is, err
}

// chunkOfMove returns a chunk with a key that the move takes along in any case.
func (d *Executor) chunkOfMove(ctx context.Context, coll catalog.Collection, m UnansweredMove) (catalog.Chunk, error) {
	if m.Min == nil && m.Find == nil {
		return d.chunkBelow(ctx, coll, m.Max)
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
	return d.chunkAt(ctx, coll, key)
}

// chunkBelow returns the chunk that ends at a bound or contains it.
func (d *Executor) chunkBelow(ctx context.Context, coll catalog.Collection, bound bson.Raw) (catalog.Chunk, error) {
	key, err := coll.Pattern.ExtendBound(bound)
	if err != nil {
		return catalog.Chunk{}, err
	}
	docs, err := d.find(ctx, "chunks",
		bson.D{coll.ChunkFilter(), {Key: "min", Value: bson.D{{Key: "$lt", Value: coll.Pattern.Bound(key)}}}},
		sorted("min", -1), bson.E{Key: "limit", Value: 1})
	if err != nil {
		return catalog.Chunk{}, err
	}
	if len(docs) == 0 {
		return catalog.Chunk{}, mongoerr.New(mongoerr.InvalidOptions, "%s has no chunk below %s", coll.Namespace,
			humanize.Literal(bound))
	}
	return catalog.ParseChunk(coll.Pattern, docs[0])
}

// movesNow reports whether the move is in progress, by the shards or, in old releases, the
// config server.
func (d *Executor) movesNow(
	ctx context.Context, coll catalog.Collection, chunk catalog.Chunk, m UnansweredMove,
) (bool, error) {
	seen, err := NewCommandReader(d.commands,
		ReaderOptions{Parts: Migrations, Release: d.release, Wait: time.Minute}).Read(ctx)
	if err != nil {
		return false, ServerError(err)
	}
	for _, running := range seen.Parts().Migrations {
		if running.Namespace == m.Namespace && cmp.Or(running.To, m.To) == m.To &&
			(running.Min == nil || within(coll, chunk, running.Min)) {
			return true, nil
		}
	}
	return false, nil
}

// within reports whether a bound lies in a chunk: a move begins inside its chunk.
func within(coll catalog.Collection, chunk catalog.Chunk, bound bson.Raw) bool {
	key, err := coll.Pattern.ExtendBound(bound)
	return err == nil && !key.Less(chunk.Min) && key.Less(chunk.Max)
}

// maxEntries is how far back the change log is read for a move: each writes five entries.
const maxEntries = 2000

// loggedOutcome reads what the shards wrote down since the move was asked for. A donor whose
// operation was killed can't write; the recipient does.
func (d *Executor) loggedOutcome(
	ctx context.Context, coll catalog.Collection, chunk catalog.Chunk, m UnansweredMove,
) (MoveState, string, error) {
	docs, err := d.list(ctx, "config", newestFirst("changelog", bson.D{}, maxEntries))
	if err != nil {
		return "", "", err
	}
	aborted := ""
	for _, doc := range docs {
		if doc.Lookup("_id").Equal(m.After.id) {
			break
		}
		if text(doc, "ns") != m.Namespace || text(doc, "details", "to") != string(m.To) {
			continue
		}
		lower := document(doc, "details", "min") // empty when the donor refused it early
		if bounds, _ := lower.Elements(); len(bounds) > 0 && !within(coll, chunk, lower) {
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
			return MoveDone, "", nil // and went on from there
		case what == "moveChunk.from":
			return MoveFailed, cmp.Or(text(doc, "details", "errmsg"), "the donor aborted it"), nil
		}
	}
	return MoveNotStarted, "", nil
}
