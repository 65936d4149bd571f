package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/plan"
)

// Steps applies the steps of plans to a sharded cluster, through a mongos.
type Steps struct {
	executor *Executor
	zone     *time.Location // of the config servers, if somebody named it

	identified sync.Mutex // guards clusterID
	clusterID  bson.ObjectID
}

var _ apply.Cluster = (*Steps)(nil)

// NewSteps returns the Steps of the server's release. The error is ErrNotSharded if the
// server is not a mongos.
func NewSteps(ctx context.Context, a CommandRunner) (*Steps, error) {
	d, err := newExecutor(ctx, a)
	return &Steps{executor: d}, err
}

// SetZone names the time zone of the config servers; nil has it found out.
func (s *Steps) SetZone(zone *time.Location) { s.zone = zone }

// Snapshot reads what a step depends on, without chunks.
func (s *Steps) Snapshot(ctx context.Context, namespaces []string) (*catalog.Snapshot, error) {
	now, err := s.executor.now(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.identify(ctx); err != nil {
		return nil, err
	}
	seen, err := NewCommandReader(s.executor.commands, ReaderOptions{
		Parts: Settings | Balancer | Clock | Shards | Collections | Zones, Required: All, Namespaces: namespaces,
		Wait: time.Minute, Now: now, Release: s.executor.deciding, Zone: s.zone,
	}).Read(ctx)
	if err != nil {
		return nil, ServerError(err)
	}
	parts := seen.Parts()
	parts.ClusterID = s.clusterID
	byNamespace := make(map[string]*catalog.CollectionState, len(parts.Collections))
	for _, c := range parts.Collections {
		byNamespace[c.Namespace], c.Zones = c, catalog.NewZoneSet(c.Pattern)
	}
	for _, doc := range parts.Config["tags"] {
		if c := byNamespace[text(doc, "ns")]; c != nil {
			if err := addZone(c, doc); err != nil {
				return nil, err
			}
		}
	}
	return catalog.NewSnapshot(parts), nil
}

// identify reads the id of the cluster, once.
func (s *Steps) identify(ctx context.Context) error {
	s.identified.Lock()
	defer s.identified.Unlock()
	if !s.clusterID.IsZero() {
		return nil
	}
	docs, err := s.executor.find(ctx, "version", bson.D{})
	for _, doc := range docs {
		s.clusterID, _ = doc.Lookup("clusterId").ObjectIDOK()
	}
	return err
}

// Chunks reads the chunks of a range. They may change during the read: chunks that leave a
// gap or overlap are read again.
func (s *Steps) Chunks(ctx context.Context, c catalog.Collection, lower, upper catalog.Key) ([]catalog.Chunk, error) {
	for attempt := 1; ; attempt++ {
		chunks, err := s.chunks(ctx, c, lower, upper)
		if err != nil || len(chunks) == 0 || catalog.CoverExactly(chunks, chunks[0].Min, chunks[len(chunks)-1].Max) {
			return chunks, err
		}
		if attempt == readAttempts {
			return nil, mongoerr.New(mongoerr.ConflictingOperationInProgress,
				"the chunks of %s keep changing while they are read",
				c.Namespace)
		}
	}
}

func (s *Steps) chunks(ctx context.Context, c catalog.Collection, lower, upper catalog.Key) ([]catalog.Chunk, error) {
	above := bson.D{}
	var chunks []catalog.Chunk
	if !lower.IsZero() {
		first, err := s.executor.chunkAt(ctx, c, lower)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, first)
		if !first.Max.Less(upper) {
			return chunks, nil
		}
		above = append(above, bson.E{Key: "$gt", Value: c.Pattern.Bound(first.Min)},
			bson.E{Key: "$lt", Value: c.Pattern.Bound(upper)})
	}
	filter := bson.D{c.ChunkFilter()}
	if len(above) > 0 {
		filter = append(filter, bson.E{Key: "min", Value: above})
	}
	docs, err := s.executor.find(ctx, "chunks", filter, sorted("min", 1))
	if err != nil {
		return nil, err
	}
	for _, doc := range docs {
		chunk, err := catalog.ParseChunk(c.Pattern, doc)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, chunk)
	}
	return chunks, nil
}

// Cuts uses splitVector, which cuts into pieces of half the chunk size.
func (s *Steps) Cuts(ctx context.Context, c apply.Command) ([]catalog.Key, error) {
	return s.executor.splitVector(ctx, c.Pattern, c.Namespace, c.Min, c.Max, c.MaxBytes, false)
}

// CanCut reports whether a range has more than one key. Up to 5.0 its first and last document
// say it, to a user who may read them; what nobody can tell counts as yes.
func (s *Steps) CanCut(ctx context.Context, c apply.Command) (bool, error) {
	if s.executor.release.ShowsSplitPoints() {
		points, err := s.Cuts(ctx, c)
		return len(points) > 0, err
	}
	if c.Pattern.HashedField() >= 0 { // their index does not sort
		return true, nil
	}
	first, err := s.outermost(ctx, c, 1)
	switch {
	case mongoerr.Is(err, mongoerr.Unauthorized) || err == nil && first.IsZero():
		return true, nil
	case err != nil:
		return false, err
	}
	last, err := s.outermost(ctx, c, -1)
	return !first.Equal(last), err
}

// outermost returns the first key in a range, or with -1 the last; zero without documents.
func (s *Steps) outermost(ctx context.Context, c apply.Command, direction int32) (key catalog.Key, err error) {
	db, collection, err := catalog.SplitNamespace(c.Namespace)
	if err != nil {
		return key, err
	}
	var order bson.D
	for _, field := range c.Pattern.Fields() {
		order = append(order, bson.E{Key: field, Value: direction})
	}
	docs, err := s.executor.list(ctx, db, bson.D{
		{Key: "find", Value: collection}, {Key: "hint", Value: c.Pattern.Doc()}, {Key: "sort", Value: order},
		{Key: "min", Value: c.Pattern.Bound(c.Min)}, {Key: "max", Value: c.Pattern.Bound(c.Max)},
		{Key: "limit", Value: 1},
	})
	if err != nil || len(docs) == 0 {
		return key, err
	}
	return c.Pattern.DocumentKey(docs[0])
}

// Do sends the command of the server's release.
func (s *Steps) Do(ctx context.Context, c apply.Command) error {
	var command bson.D
	switch c.Kind {
	case plan.Split:
		command = splitAt(c.Pattern, c.Namespace, c.Point)
		if c.Halve {
			command = halve(c.Pattern, c.Namespace, c.Min, c.Max)
		}
	case plan.Merge:
		command = mergeChunks(c.Pattern, c.Namespace, c.Min, c.Max)
	case plan.Move:
		command = moveChunk(c.Pattern, c.Namespace, c.To, c.Min, c.Max)
		if s.executor.release.AtLeast(catalog.Release60) {
			upper := c.Max
			if c.Open {
				upper = catalog.Key{}
			}
			command = moveRange(c.Pattern, c.Namespace, c.To, c.Min, upper)
		}
		command = s.executor.moving(command, c.Settings, c.Force)
	default:
		return &UnsupportedError{"a step of the kind " + string(c.Kind), noCommand}
	}
	_, err := s.executor.ask(ctx, "admin", command)
	return err
}

// SetBalancing switches the balancing of collections on or off. The error is a
// *BalancingError.
func (s *Steps) SetBalancing(ctx context.Context, namespaces []string, on bool) error {
	_, err := s.executor.setBalancing(ctx, namespaces, on)
	return err
}

// Release returns the release by which the cluster's rounds go: that of the router, unless the
// config servers were asked.
func (s *Steps) Release() catalog.Release { return s.executor.deciding }

// Router returns the release of the router, by which commands go.
func (s *Steps) Router() catalog.Release { return s.executor.release }

// AskConfigServers has rounds go by the release of the config servers' primary, if that can be
// reached with the settings of the cluster's client.
func (s *Steps) AskConfigServers(ctx context.Context, settings *options.ClientOptions) {
	s.executor.askConfigServers(ctx, settings)
}

// Sizes returns the bytes of collections on each shard, on every release, without orphans
// if the server reports them. A shard without data has 0.
func (s *Steps) Sizes(ctx context.Context, namespaces []string) (map[string]map[catalog.ShardID]int64, error) {
	seen, err := NewCommandReader(s.executor.commands, ReaderOptions{
		Parts: Shards | Collections | Sizes | OldSizes, Required: Shards | Collections,
		Namespaces: namespaces, Release: s.executor.release, Wait: time.Minute,
	}).Read(ctx)
	if err != nil {
		return nil, ServerError(err)
	}
	for _, gap := range seen.Parts().Source.Gaps {
		if gap.What == "sizes" {
			return nil, fmt.Errorf("the sizes can't be read: %s", gap.Reason)
		}
	}
	sizes := map[string]map[catalog.ShardID]int64{}
	for _, c := range seen.Collections() {
		if c.Sizes == nil {
			continue
		}
		sizes[c.Namespace] = map[catalog.ShardID]int64{}
		for _, shard := range seen.Shards() {
			sizes[c.Namespace][shard.ID] = c.Sizes[shard.ID].Bytes
		}
	}
	return sizes, nil
}
