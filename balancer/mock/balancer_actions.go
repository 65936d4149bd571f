package mock

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// actionDurations are the durations of streaming actions.
var actionDurations = map[policy.StreamActionKind]time.Duration{
	policy.MergeRange:   20 * time.Millisecond,
	policy.MergeAll:     30 * time.Millisecond,
	policy.MeasureRange: 5 * time.Millisecond,
}

// StartAction begins a merge or a measurement; done is called by an event.
func (e engineCluster) StartAction(a policy.StreamAction, done func(policy.StreamActionResult)) {
	takes := actionDurations[a.Kind]
	done = e.b.trackAction(a, done)
	var act func()
	after := func(d time.Duration) {
		e.b.clock.After(d, func() {
			e.b.clock.Attempt("an action of the balancer", act, func(err error) { done(policy.StreamActionResult{Err: err}) })
		})
	}
	act = func() {
		if a.Kind == policy.MergeRange && e.b.migrations.IsDonating(a.Namespace, a.Shard) {
			after(takes)
			return
		}
		done(e.b.performAction(a))
	}
	after(takes + e.b.faults.extraLatency(a.Shard))
}

// ActionInfo describes a merge or measurement that a shard executes for the balancer.
type ActionInfo struct {
	Namespace string
	Shard     catalog.ShardID
	Op        int32
	Started   time.Time
	Command   bson.D
}

// balancerAction is an action that a shard executes.
type balancerAction struct {
	policy.StreamAction
	op      int32
	started time.Time
}

// trackAction lists an action until it is done. The shard continues it when the config server steps
// down.
func (b *Balancer) trackAction(a policy.StreamAction,
	done func(policy.StreamActionResult)) func(policy.StreamActionResult) {
	b.migrations.lastOpID++
	listed := &balancerAction{a, b.migrations.lastOpID, b.clock.Now()}
	b.runningActions = append(b.runningActions, listed)
	return func(r policy.StreamActionResult) {
		b.runningActions = slices.DeleteFunc(b.runningActions, func(other *balancerAction) bool { return other == listed })
		done(r)
	}
}

// Actions lists the streaming actions that shards execute for the balancer.
func (b *Balancer) Actions() (list []ActionInfo) {
	for _, a := range b.runningActions {
		list = append(list, ActionInfo{a.Namespace, a.Shard, a.op, a.started, b.actionCommand(a.StreamAction)})
	}
	return list
}

// Act executes an action and waits for its end. Events must not wait, so the event driver uses
// StartAction instead.
func (e engineCluster) Act(ctx context.Context, a policy.StreamAction) policy.StreamActionResult {
	var result policy.StreamActionResult
	ended := false
	e.StartAction(a, func(r policy.StreamActionResult) { result, ended = r, true })
	if err := e.b.clock.Await(ctx, time.Time{}, func() bool { return ended }); err != nil {
		result.Err = err
	}
	return result
}

func (b *Balancer) performAction(a policy.StreamAction) policy.StreamActionResult {
	if err := b.send(a.Shard, actionNames[a.Kind], func() bson.D { return b.actionCommand(a) }); err != nil {
		return policy.StreamActionResult{Err: err}
	}
	coll, ok, err := b.config.TrackedEntry(a.Namespace)
	switch {
	case err != nil:
		return policy.StreamActionResult{Err: err}
	case a.Kind == policy.MergeAll && !ok:
		return policy.StreamActionResult{Err: mongoerr.New(mongoerr.ConflictingOperationInProgress,
			"collection %s is gone", a.Namespace)}
	case a.Kind == policy.MergeAll:
		merged, err := b.chunks.MergeAll(coll, a.Shard, policy.MergeLimits{
			Chunks: policy.AutoMergeMaxChunks, Time: b.parameters.Milliseconds("autoMergerMaxTimeProcessingChunksMS"),
		})
		return policy.StreamActionResult{MergedChunks: merged, Err: err}
	case !ok || !coll.UUID.Equal(a.UUID):
		return policy.StreamActionResult{Err: mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found",
			a.Namespace)}
	case a.Kind == policy.MergeRange:
		return policy.StreamActionResult{Err: b.mergeForBalancer(coll, a)}
	}
	return b.measure(coll, a)
}

// mergeForBalancer executes mergeChunks for the balancer. It fails if the owner is not the expected
// shard.
func (b *Balancer) mergeForBalancer(coll catalog.Collection, a policy.StreamAction) error {
	if owner := b.config.tables[a.Namespace].Find(a.Min).Shard; owner != a.Shard {
		return b.config.staleConfigError(a.Namespace, a.Shard, "the range belongs to shard %s", owner)
	}
	return b.chunks.MergeRange(coll, a.Min, a.Max)
}

// measure estimates the size of a range like dataSize: the truncated average document size for every key
// in the range, until the size exceeds the requested limit (rules/02-defragmentation-and-merging §4.4).
func (b *Balancer) measure(coll catalog.Collection, a policy.StreamAction) policy.StreamActionResult {
	l := b.shards[a.Shard].colls[a.Namespace]
	if l == nil {
		return policy.StreamActionResult{}
	}
	docs, bytes := l.counts()
	if docs == 0 {
		return policy.StreamActionResult{}
	}
	if _, ok := l.shardKeyIndex(coll.Pattern); !ok {
		return policy.StreamActionResult{Err: mongoerr.New(mongoerr.OperationFailed,
			"couldn't find a valid index to search the key %s", coll.Pattern.Doc())}
	}
	average := bytes / docs
	virtual, _ := l.virtual.sumIn(coll.Pattern, a.Min, a.Max)
	size := virtual * average
	if size <= a.MaxBytes {
		for range l.documentsInRange(coll.Pattern, a.Min, a.Max) {
			if size += average; size > a.MaxBytes {
				break
			}
		}
	}
	return policy.StreamActionResult{MeasuredBytes: size, MaxReached: size > a.MaxBytes}
}

func (e engineCluster) LogChange(_ context.Context, what string) error {
	e.b.log.writeChange(configShard, what, "", bson.D{})
	return nil
}

// Mergeable returns the shards of collections on which the auto-merger may find chunks to merge. Each
// has a chunk that arrived long enough ago.
func (e engineCluster) Mergeable(context.Context) ([]policy.MergeWork, error) {
	if !e.b.release.AutoMerges() {
		return nil, nil
	}
	colls, err := e.b.config.ShardedCollections()
	if err != nil {
		return nil, err
	}
	cutoff := e.b.chunks.mergeCutoff()
	var work []policy.MergeWork
	for _, id := range e.b.shards.ids() {
		w := policy.MergeWork{Shard: id}
		for _, coll := range colls {
			if !coll.Defragment && coll.EnableAutoMerge &&
				policy.OwnsChunkOlderThan(e.b.config.Table(coll.Namespace), id, cutoff) {
				w.Namespaces = append(w.Namespaces, coll.Namespace)
			}
		}
		if len(w.Namespaces) > 0 {
			work = append(work, w)
		}
	}
	return work, nil
}

func (e engineCluster) SetEstimate(_ context.Context, ns string, uuid bson.Binary, m policy.Measurement) error {
	coll, ok, err := e.b.config.TrackedEntry(ns)
	if err != nil {
		return err
	}
	if ok && coll.UUID.Equal(uuid) {
		if chunk := e.b.config.tables[ns].Find(m.Min); chunk.Min.Equal(m.Min) && chunk.Max.Equal(m.Max) {
			chunk.Estimate = m.Size
			return e.b.config.putChunks(ns, chunk)
		}
	}
	return mongoerr.New(noSuchChunk, "no chunk of %s with these bounds", ns)
}

// noSuchChunk is the server's error code if the chunk to measure no longer exists.
const noSuchChunk mongoerr.Code = 6049401

func (e engineCluster) SetDefragmentationPhase(_ context.Context, ns string, uuid bson.Binary,
	phase policy.PhaseName) error {
	return e.b.changeDefragmented(ns, uuid, func(doc *bson.D) { setDocField(doc, "defragmentationPhase", string(phase)) })
}

func (e engineCluster) EndDefragmentation(_ context.Context, ns string, uuid bson.Binary) error {
	if table := e.b.config.Table(ns); table != nil {
		e.b.config.setTable(ns, table.WithoutEstimates())
	}
	return e.b.changeDefragmented(ns, uuid, func(doc *bson.D) {
		unsetDocField(doc, "defragmentCollection")
		unsetDocField(doc, "defragmentationPhase")
	})
}

func (b *Balancer) changeDefragmented(ns string, uuid bson.Binary, change func(*bson.D)) error {
	coll, ok, err := b.config.TrackedEntry(ns)
	if err != nil {
		return err
	}
	if !ok || !coll.UUID.Equal(uuid) {
		return mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
	}
	_, err = b.config.modify(configCollections, ns, change)
	return err
}
