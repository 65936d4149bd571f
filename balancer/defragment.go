package balancer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// DefragmentationStore stores the progress of a defragmentation in the catalog.
type DefragmentationStore interface {
	// SetEstimate stores the measured size with the chunk that has exactly these bounds; it returns an
	// error if there is no such chunk.
	SetEstimate(ctx context.Context, ns string, uuid bson.Binary, m policy.Measurement) error

	// SetDefragmentationPhase stores the phase with the collection; it returns an error if the
	// collection does not exist any more.
	SetDefragmentationPhase(ctx context.Context, ns string, uuid bson.Binary, phase policy.PhaseName) error

	// EndDefragmentation removes the phase and the flag from the collection and
	// the estimates from its chunks.
	EndDefragmentation(ctx context.Context, ns string, uuid bson.Binary) error
}

// defragmentations are the running defragmentations. The loop adds defragmentations and takes
// migrations from them. The streams take actions from them and advance their phases. Commands abort
// them and read their progress.
type defragmentations struct {
	mu      *sync.Mutex        // of the engine; each method takes it
	running []*defragmentation // by UUID
}

// defragmentation is the defragmentation of one collection, in its current phase.
type defragmentation struct {
	ns    string
	uuid  bson.Binary
	phase policy.Phase
}

// startDefragmentations starts the defragmentation of the collections that were flagged since the last
// round (rules/02-defragmentation-and-merging §2.2). The next round tries a collection again for which
// this fails.
func (l *Loop) startDefragmentations() error {
	colls, err := l.collections()
	if err != nil {
		return err
	}
	for _, coll := range colls {
		if !coll.Defragment || l.defragmentations.find(coll.UUID) != nil {
			continue
		}
		name := policy.PhaseName(coll.DefragmentationPhase)
		phase, err := l.enterPhase(&l.thread, coll.Namespace, coll.UUID, cmp.Or(name, policy.PhaseMergeAndMeasure),
			name == "")
		switch {
		case errors.Is(err, errTerminated):
			return err
		case err != nil:
			l.cfg.Logger.Error("defragmentation can't begin, trying again in the next round", "id", 6172701,
				"ns", coll.Namespace, "error", err)
		case phase != nil:
			l.defragmentations.add(&defragmentation{coll.Namespace, coll.UUID, phase})
		}
	}
	return nil
}

// enterPhase begins a phase. If a phase has nothing to do, the phase that follows it begins as well.
// Each phase is stored before it is built. The returned phase is nil when the defragmentation is
// complete.
func (l *Loop) enterPhase(t *thread, ns string, uuid bson.Binary, name policy.PhaseName,
	store bool) (policy.Phase, error) {
	for {
		if store {
			err := callWithoutValue(t, "phase", func(ctx context.Context, c Cluster) error {
				return c.SetDefragmentationPhase(ctx, ns, uuid, name)
			})
			if err != nil {
				return nil, err
			}
		}
		phase, err := l.buildPhase(t, ns, uuid, name)
		if err != nil {
			return nil, err
		}
		if phase.Name() == policy.PhaseFinished {
			return nil, callWithoutValue(t, "end of defragmentation", func(ctx context.Context, c Cluster) error {
				return c.EndDefragmentation(ctx, ns, uuid)
			})
		}
		l.cfg.Logger.Info("defragmentation enters a phase", "id", 6172702, "ns", ns, "phase", name,
			"remaining", phase.Remaining())
		if !phase.IsComplete() {
			return phase, nil
		}
		name, store = phase.NextPhase(), true
	}
}

// buildPhase reads the input of a phase and creates it.
func (l *Loop) buildPhase(t *thread, ns string, uuid bson.Binary, name policy.PhaseName) (policy.Phase, error) {
	if name == policy.PhaseFinished {
		return policy.NewPhase(name, policy.Situation{}), nil
	}
	routing, err := readRouting(t, ns)
	if err != nil {
		return nil, err
	}
	coll := routing.Collection
	if !bytes.Equal(coll.UUID.Data, uuid.Data) {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s was recreated", ns)
	}
	if err := l.refreshSettingsOn(t); err != nil {
		return nil, err
	}
	var shards []catalog.Shard
	var sizes map[string]map[catalog.ShardID]int64
	if name == policy.PhaseMoveAndMerge {
		if shards, err = readShards(t); err != nil {
			return nil, err
		}
		if sizes, err = readSizes(t, []catalog.Collection{coll}); err != nil {
			return nil, err
		}
	}
	return policy.NewPhase(name, l.withRestrictions(NewSituation(routing, sizes[ns], shards, l.Settings()))), nil
}

// defragmentationMoves takes one migration from each collection in turn, as long as shards are
// available (rules/02-defragmentation-and-merging §2.5).
func (l *Loop) defragmentationMoves(available *policy.AvailableShards) []policy.Migration {
	left := l.defragmentations.all()
	l.rand.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	var moves []policy.Migration
	for i := 0; len(left) > 0 && available.Len() > 0; {
		i %= len(left)
		m, ok := l.defragmentations.nextMigration(left[i], available, l.now)
		if ok {
			l.decisions.Add(policy.NewChoice(m))
			moves = append(moves, m)
			i++
			continue
		}
		left[i] = left[len(left)-1]
		left = left[:len(left)-1]
	}
	if len(moves) == 0 {
		l.streams.wake()
	}
	return moves
}

// AbortDefragmentation asks the defragmentation of a collection, if one is running, to stop as soon as
// its outstanding actions have finished (rules/02-defragmentation-and-merging §2.9).
func (l *Loop) AbortDefragmentation(uuid bson.Binary) {
	l.defragmentations.withPhase(uuid, func(p policy.Phase) { p.Abort(policy.PhaseFinished) })
	l.streams.wake()
}

// Defragmentation returns the progress of the defragmentation of a collection, for the status command.
// The phase is empty when the loop has no state for the collection.
func (l *Loop) Defragmentation(coll catalog.Collection) policy.Defragmentation {
	d := policy.Defragmentation{Running: coll.Defragment}
	if d.Running {
		l.defragmentations.withPhase(coll.UUID, func(p policy.Phase) {
			d.Phase, d.RemainingChunks = string(p.Name()), p.Remaining()
		})
	}
	return d
}

func (d *defragmentations) search(uuid bson.Binary) (int, bool) {
	return slices.BinarySearchFunc(d.running, uuid, func(r *defragmentation, id bson.Binary) int {
		return bytes.Compare(r.uuid.Data, id.Data)
	})
}

func (d *defragmentations) find(uuid bson.Binary) *defragmentation {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i, ok := d.search(uuid); ok {
		return d.running[i]
	}
	return nil
}

func (d *defragmentations) all() []*defragmentation {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.running)
}

func (d *defragmentations) add(r *defragmentation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i, ok := d.search(r.uuid); !ok {
		d.running = slices.Insert(d.running, i, r)
	}
}

func (d *defragmentations) remove(r *defragmentation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i, ok := d.search(r.uuid); ok {
		d.running = slices.Delete(d.running, i, i+1)
	}
}

// withPhase calls f with the current phase of a collection, under the lock.
func (d *defragmentations) withPhase(uuid bson.Binary, f func(policy.Phase)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i, ok := d.search(uuid); ok {
		f(d.running[i].phase)
	}
}

func (d *defragmentations) nextMigration(r *defragmentation, available *policy.AvailableShards,
	now time.Time) (policy.Migration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return r.phase.NextMigration(available, now)
}

func (d *defragmentations) migrationDone(m policy.Migration, err error) {
	d.withPhase(m.UUID, func(p policy.Phase) { p.RecordMigrationResult(m, err) })
}
