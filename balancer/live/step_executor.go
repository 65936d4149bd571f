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

// StepExecutor executes the steps of plans on a sharded cluster, through a mongos.
type StepExecutor struct {
	executor *Executor
	location *time.Location // of the config servers, if the user has named it

	clusterIDMu sync.Mutex // guards clusterID
	clusterID   bson.ObjectID
}

var _ apply.Cluster = (*StepExecutor)(nil)

// NewStepExecutor returns a StepExecutor for the server's release. The error is ErrNotSharded if the
// server is not a mongos.
func NewStepExecutor(ctx context.Context, a CommandRunner) (*StepExecutor, error) {
	d, err := NewExecutor(ctx, a)
	return &StepExecutor{executor: d}, err
}

// SetLocation sets the time zone of the config servers; nil means that it is determined.
func (s *StepExecutor) SetLocation(zone *time.Location) { s.location = zone }

// Snapshot reads the state on which a step depends, without chunks.
func (s *StepExecutor) Snapshot(ctx context.Context, namespaces []string) (*catalog.Snapshot, error) {
	now, err := ReadRouterTime(ctx, s.executor.commands)
	if err != nil {
		return nil, err
	}
	if err := s.readClusterID(ctx); err != nil {
		return nil, err
	}
	seen, err := NewCommandReader(s.executor.commands, ReaderOptions{
		Parts: Settings | Balancer | WindowClock | Shards | Collections | Zones, Required: AllParts, Namespaces: namespaces,
		MaxShardWait: time.Minute, Now: now, Release: s.executor.configRelease, TimeZone: s.location,
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

// readClusterID reads the id of the cluster, once.
func (s *StepExecutor) readClusterID(ctx context.Context) error {
	s.clusterIDMu.Lock()
	defer s.clusterIDMu.Unlock()
	if !s.clusterID.IsZero() {
		return nil
	}
	docs, err := s.executor.findInConfig(ctx, "version", bson.D{})
	for _, doc := range docs {
		s.clusterID, _ = doc.Lookup("clusterId").ObjectIDOK()
	}
	return err
}

// Chunks reads the chunks of a range. The chunks may change during the read: if there is a gap or an
// overlap, they are read again.
func (s *StepExecutor) Chunks(
	ctx context.Context,
	c catalog.Collection,
	lower, upper catalog.Key,
) ([]catalog.Chunk, error) {
	for attempt := 1; ; attempt++ {
		chunks, err := s.readChunks(ctx, c, lower, upper)
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

func (s *StepExecutor) readChunks(
	ctx context.Context,
	c catalog.Collection,
	lower, upper catalog.Key,
) ([]catalog.Chunk, error) {
	above := bson.D{}
	var chunks []catalog.Chunk
	if !lower.IsZero() {
		first, err := s.executor.readChunkAt(ctx, c, lower)
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
	docs, err := s.executor.findInConfig(ctx, "chunks", filter, sortBy("min", 1))
	if err != nil {
		return nil, err
	}
	more, err := parseChunks(c, docs)
	return append(chunks, more...), err
}

// Cuts uses splitVector, which returns points for pieces of half the chunk size.
func (s *StepExecutor) Cuts(ctx context.Context, c apply.Command) ([]catalog.Key, error) {
	return splitVector(ctx, s.executor.runCommand, c.Pattern, c.Namespace, c.Min, c.Max, c.ChunkSize)
}

// CanCut reports whether a range has more than one key. Up to 5.0, it compares the first and the last
// document, if the user may read them. It returns true if the answer is not known.
func (s *StepExecutor) CanCut(ctx context.Context, c apply.Command) (bool, error) {
	if s.executor.routerRelease.ShowsSplitPoints() {
		points, err := s.Cuts(ctx, c)
		return len(points) > 0, err
	}
	if c.Pattern.HashedField() >= 0 { // the index of a hashed key does not sort documents
		return true, nil
	}
	first, err := s.outermostKey(ctx, c, 1)
	switch {
	case mongoerr.Is(err, mongoerr.Unauthorized) || err == nil && first.IsZero():
		return true, nil
	case err != nil:
		return false, err
	}
	last, err := s.outermostKey(ctx, c, -1)
	return !first.Equal(last), err
}

// outermostKey returns the first key in a range or, with direction -1, the last one; zero if there are
// no documents.
func (s *StepExecutor) outermostKey(
	ctx context.Context,
	c apply.Command,
	direction int32,
) (key catalog.Key, err error) {
	db, collection, err := catalog.SplitNamespace(c.Namespace)
	if err != nil {
		return key, err
	}
	var order bson.D
	for _, field := range c.Pattern.Fields() {
		order = append(order, bson.E{Key: field, Value: direction})
	}
	docs, err := s.executor.listDocs(ctx, db, bson.D{
		{Key: "find", Value: collection}, {Key: "hint", Value: c.Pattern.Doc()}, {Key: "sort", Value: order},
		{Key: "min", Value: c.Pattern.Bound(c.Min)}, {Key: "max", Value: c.Pattern.Bound(c.Max)},
		{Key: "limit", Value: 1},
	})
	if err != nil || len(docs) == 0 {
		return key, err
	}
	return c.Pattern.DocumentKey(docs[0])
}

// Do sends the command in the form of the server's release.
func (s *StepExecutor) Do(ctx context.Context, c apply.Command) error {
	var command bson.D
	switch c.Kind {
	case plan.Split:
		command = splitCommand(c.Pattern, c.Namespace, c.Point)
		if c.Halve {
			command = halveCommand(c.Pattern, c.Namespace, c.Min, c.Max)
		}
	case plan.Merge:
		command = mergeChunksCommand(c.Pattern, c.Namespace, c.Min, c.Max)
	case plan.Move:
		command = moveChunkCommand(c.Pattern, c.Namespace, c.To, c.Min, c.Max)
		if s.executor.routerRelease.FCVAtLeast(catalog.Release60) {
			upper := c.Max
			if c.DonorChoosesEnd {
				upper = catalog.Key{}
			}
			command = moveRangeCommand(c.Pattern, c.Namespace, c.To, c.Min, upper)
		}
		command = s.executor.withMoveOptions(command, c.Settings, c.Force)
	default:
		return &UnsupportedError{"a step of the kind " + string(c.Kind), noCommand}
	}
	_, err := s.executor.runCommand(ctx, "admin", command)
	return err
}

// SetBalancing switches the balancing of collections on or off. The error is a *BalancingError.
func (s *StepExecutor) SetBalancing(ctx context.Context, namespaces []string, on bool) error {
	_, err := s.executor.setBalancing(ctx, namespaces, on)
	return err
}

// Release returns the release whose balancing rules apply: that of the router, unless the release of
// the config servers was detected.
func (s *StepExecutor) Release() catalog.Release { return s.executor.configRelease }

// RouterRelease returns the release of the router, which determines the commands.
func (s *StepExecutor) RouterRelease() catalog.Release { return s.executor.routerRelease }

// DetectConfigRelease reads the release of the config servers' primary, which determines the rounds, if
// the primary can be reached with the settings of the cluster's client.
func (s *StepExecutor) DetectConfigRelease(ctx context.Context, settings *options.ClientOptions) {
	s.executor.detectConfigRelease(ctx, settings)
}

// Sizes returns the size of collections on each shard, in every release, without orphans if the server
// reports these. A shard without data has 0.
func (s *StepExecutor) Sizes(ctx context.Context, namespaces []string) (map[string]map[catalog.ShardID]int64, error) {
	seen, err := NewCommandReader(s.executor.commands, ReaderOptions{
		Parts: Shards | Collections | Sizes | LegacySizes, Required: Shards | Collections,
		Namespaces: namespaces, Release: s.executor.routerRelease, MaxShardWait: time.Minute,
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
