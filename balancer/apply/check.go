package apply

import (
	"context"
	"encoding/json"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// ChangedError says that the cluster is not any more what a plan was made for.
type ChangedError struct {
	Step int // its number; 0 for the plan as a whole
	What string
	// Contents says that only what chunks hold is not as was expected.
	Contents bool
}

// Error names the step and what has changed.
func (e *ChangedError) Error() string {
	if e.Contents {
		return fmt.Sprintf("stopped after step %d: %s", e.Step, e.What)
	}
	if e.Step == 0 {
		return "the cluster has changed: " + e.What
	}
	return fmt.Sprintf("the cluster has changed, step %d can't be done: %s", e.Step, e.What)
}

// BlockedError says what stands in the way of a step, and will of any other plan.
type BlockedError struct {
	What, Remedy string
}

// Error is what is in the way, and what to do.
func (e *BlockedError) Error() string { return e.What + ": " + e.Remedy }

// piece is a chunk as it was, as far as undoing needs it.
type piece struct {
	Min   catalog.Key     `json:"min"`
	Max   catalog.Key     `json:"max"`
	Shard catalog.ShardID `json:"shard"`
}

// remainder is what is left of a step.
type remainder struct {
	commands []Command  // none: the step is done
	before   []piece    // the chunks that it touches, as they are now
	span     plan.Range // what it is about, where only the cluster could say that
}

// clusterState is a cluster at one moment, as steps find it.
type clusterState struct {
	look    *catalog.Snapshot
	chunks  func(ctx context.Context, c catalog.Collection, lower, upper catalog.Key) ([]catalog.Chunk, error)
	basis   map[string]plan.CollectionBasis
	spans   map[int]plan.Range    // by step: what those are about that have begun
	cuts    map[int][]catalog.Key // by step, besides those of the plan
	before  map[int][]piece       // by step, where cuts may not know all that was cut
	unmarks catalog.ShardID       // is not draining when this begins
	undoes  bool                  // zones are not kept: the plan goes back to what was
}

// check compares a step with the cluster. The error is a *ChangedError or a
// *BlockedError where the cluster is in the way.
func (g clusterState) check(ctx context.Context, s plan.Step) (remainder, error) {
	coll, err := g.collection(s)
	if err != nil {
		return remainder{}, err
	}
	lower, upper := s.Min, s.Max
	if s.Within != nil {
		lower, upper = s.Within.Min, s.Within.Max
	}
	chunks, err := g.chunks(ctx, coll.Collection, lower, upper)
	if err != nil {
		return remainder{}, err
	}
	if len(chunks) == 0 {
		return remainder{}, changed(s, "%s has no chunks there", s.Namespace)
	}
	t := remainder{}
	for _, c := range chunks {
		t.before = append(t.before, piece{c.Min, c.Max, c.Shard})
	}
	at := stepOn{g, s, coll, chunks}
	if s.Within != nil {
		t.commands, t.span, err = at.within(*s.Within)
		return t, err
	}
	switch s.Kind {
	case plan.Move:
		t.commands, err = at.move()
	case plan.Split:
		t.commands, err = at.split()
	case plan.Merge:
		t.commands, err = at.merge()
	default:
		err = fmt.Errorf("step %d is of the unknown kind %q", s.Number, s.Kind)
	}
	return t, err
}

func changed(s plan.Step, format string, args ...any) error {
	return &ChangedError{Step: s.Number, What: fmt.Sprintf(format, args...)}
}

// collection returns the one of a step, if it is still the one of the plan.
func (g clusterState) collection(s plan.Step) (*catalog.CollectionState, error) {
	coll := g.look.Collection(s.Namespace)
	if coll == nil || coll.Unsplittable {
		return nil, changed(s, "%s is not a sharded collection any more", s.Namespace)
	}
	was, known := g.basis[s.Namespace]
	if !known {
		return nil, fmt.Errorf("step %d is for %s, which is not in the plan's collections", s.Number, s.Namespace)
	}
	key, err := patternOf(was.Key)
	if err != nil {
		return nil, fmt.Errorf("the plan's shard key of %s: %w", s.Namespace, err)
	}
	switch {
	case coll.Resharding:
		return nil, &BlockedError{s.Namespace + " is being resharded", "wait for it, or sh.abortReshardCollection"}
	case coll.Frozen(g.look.Release()):
		return nil, &BlockedError{"splits, merges and migrations of " + s.Namespace + " are forbidden by the server",
			"wait for the operation that forbade them (allowChunkOperations in config.collections)"}
	case was.UUID != plan.UUIDText(coll.UUID):
		return nil, changed(s, "%s was dropped and made again since the plan (uuid %s, was %s)",
			s.Namespace, plan.UUIDText(coll.UUID), was.UUID)
	case !key.Equal(coll.Pattern):
		return nil, changed(s, "the shard key of %s is %s, was %s", s.Namespace, coll.Pattern, key)
	}
	return coll, nil
}

func patternOf(text json.RawMessage) (catalog.KeyPattern, error) {
	var doc bson.Raw
	if err := bson.UnmarshalExtJSON(text, true, &doc); err != nil {
		return catalog.KeyPattern{}, err
	}
	return catalog.ParseKeyPattern(doc)
}
