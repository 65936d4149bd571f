package apply

import (
	"context"
	"encoding/json"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
)

// ChangedError says that the cluster no longer matches the state for which the plan was made.
type ChangedError struct {
	Step int // number of the step; 0 for the plan as a whole
	What string
	// ContentsOnly says that only the contents of chunks differ from the expectation.
	ContentsOnly bool
}

// Error names the step and what has changed.
func (e *ChangedError) Error() string {
	if e.ContentsOnly {
		return fmt.Sprintf("stopped after step %d: %s", e.Step, e.What)
	}
	if e.Step == 0 {
		return "the cluster has changed: " + e.What
	}
	return fmt.Sprintf("the cluster has changed, step %d can't be done: %s", e.Step, e.What)
}

// BlockedError says what blocks a step. It would block any other plan too.
type BlockedError struct {
	What, Remedy string
}

// Error returns the obstacle and the remedy.
func (e *BlockedError) Error() string { return e.What + ": " + e.Remedy }

// priorChunk is a chunk before a step: the fields that undo needs.
type priorChunk struct {
	Min   catalog.Key     `json:"min"`
	Max   catalog.Key     `json:"max"`
	Shard catalog.ShardID `json:"shard"`
}

// remainingWork is the remaining part of a step.
type remainingWork struct {
	commands    []Command    // empty if the step is done
	before      []priorChunk // the current chunks of the step's range
	actualRange plan.Range   // the actual range of the step, if its bounds in the plan are estimates
}

// clusterState is the state of a cluster in which a step is checked.
type clusterState struct {
	snapshot      *catalog.Snapshot
	readChunks    func(ctx context.Context, c catalog.Collection, lower, upper catalog.Key) ([]catalog.Chunk, error)
	basis         map[string]plan.CollectionBasis
	actualRanges  map[int]plan.Range    // by step: the actual ranges of steps with estimated bounds that have begun
	splitPoints   map[int][]catalog.Key // by step: split points besides those of the plan
	priorChunks   map[int][]priorChunk  // by step: the chunks before the step, if the split points may be incomplete
	unmarkedShard catalog.ShardID       // counts as not draining
	isUndo        bool                  // zones are not checked, since the plan restores an earlier state
}

// check compares a step with the cluster. The error is a *ChangedError, or a *BlockedError if the
// cluster blocks the step.
func (cs clusterState) check(ctx context.Context, s plan.Step) (remainingWork, error) {
	coll, err := cs.collection(s)
	if err != nil {
		return remainingWork{}, err
	}
	lower, upper := s.Min, s.Max
	if s.KnownRange != nil {
		lower, upper = s.KnownRange.Min, s.KnownRange.Max
	}
	chunks, err := cs.readChunks(ctx, coll.Collection, lower, upper)
	if err != nil {
		return remainingWork{}, err
	}
	if len(chunks) == 0 {
		return remainingWork{}, newChangedError(s, "%s has no chunks there", s.Namespace)
	}
	t := remainingWork{}
	for _, c := range chunks {
		t.before = append(t.before, priorChunk{c.Min, c.Max, c.Shard})
	}
	at := commandBuilder{cs, s, coll, chunks}
	if s.KnownRange != nil {
		t.commands, t.actualRange, err = at.estimatedStepCommands(*s.KnownRange)
		return t, err
	}
	switch s.Kind {
	case plan.Move:
		t.commands, err = at.moveCommands()
	case plan.Split:
		t.commands, err = at.splitCommands()
	case plan.Merge:
		t.commands, err = at.mergeCommands()
	default:
		err = fmt.Errorf("step %d is of the unknown kind %q", s.Number, s.Kind)
	}
	return t, err
}

func newChangedError(s plan.Step, format string, args ...any) error {
	return &ChangedError{Step: s.Number, What: fmt.Sprintf(format, args...)}
}

// collection returns the step's collection, or an error if it is not the collection for which the plan
// was made.
func (cs clusterState) collection(s plan.Step) (*catalog.CollectionState, error) {
	coll := cs.snapshot.Collection(s.Namespace)
	if coll == nil || coll.Unsplittable {
		return nil, newChangedError(s, "%s is not a sharded collection any more", s.Namespace)
	}
	was, known := cs.basis[s.Namespace]
	if !known {
		return nil, fmt.Errorf("step %d is for %s, which is not in the plan's collections", s.Number, s.Namespace)
	}
	key, err := parsePattern(was.Key)
	if err != nil {
		return nil, fmt.Errorf("the plan's shard key of %s: %w", s.Namespace, err)
	}
	switch {
	case coll.Resharding:
		return nil, &BlockedError{s.Namespace + " is being resharded", "wait for it, or sh.abortReshardCollection"}
	case coll.ForbidsChunkOperations(cs.snapshot.Release()):
		return nil, &BlockedError{"splits, merges and migrations of " + s.Namespace + " are forbidden by the server",
			"wait for the operation that forbade them (allowChunkOperations in config.collections)"}
	case was.UUID != humanize.UUID(coll.UUID.Data):
		return nil, newChangedError(s, "%s was dropped and made again since the plan (uuid %s, was %s)",
			s.Namespace, humanize.UUID(coll.UUID.Data), was.UUID)
	case !key.Equal(coll.Pattern):
		return nil, newChangedError(s, "the shard key of %s is %s, was %s", s.Namespace, coll.Pattern, key)
	}
	return coll, nil
}

func parsePattern(text json.RawMessage) (catalog.KeyPattern, error) {
	var doc bson.Raw
	if err := bson.UnmarshalExtJSON(text, true, &doc); err != nil {
		return catalog.KeyPattern{}, err
	}
	return catalog.ParseKeyPattern(doc)
}
