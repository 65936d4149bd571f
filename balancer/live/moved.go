package live

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// maxMoveEntries is the number of the newest change log entries that are searched for the entry of a
// move. A move writes five entries, and the donor writes the entry of the commit before the move
// command returns, so the entry is near the end of the log.
const maxMoveEntries = 200

// logSkew is the maximum difference of a donor's clock, by which it logs a commit, and the cluster's.
const logSkew = time.Minute

// MovedAmount returns the amount that a completed move has moved, as counted by its donor. It searches
// config.changelog from its end for the entry of the commit. If there is none, it returns the range
// without counts.
func (s *StepExecutor) MovedAmount(ctx context.Context, c apply.Command) (apply.RangeAmount, error) {
	moved := apply.RangeAmount{Min: c.Min}
	coll, err := s.executor.readCollection(ctx, c.Namespace)
	if err != nil {
		return moved, err
	}
	chunk, err := s.executor.readChunkAt(ctx, coll, c.Min)
	if err != nil {
		return moved, err
	}
	var since time.Time // entries before are of an earlier move
	if chunk.Shard == c.To {
		moved.Max = chunk.Max
		since = arrival(chunk).Add(-logSkew)
	}
	docs, err := s.executor.listDocs(ctx, "config", newestFirstCommand("changelog", bson.D{}, maxMoveEntries))
	if err != nil {
		return moved, err
	}
	for _, doc := range docs {
		details := document(doc, "details")
		if text(doc, "what") != catalog.MigrationCommitted || text(doc, "ns") != coll.Namespace ||
			text(details, "from") != string(c.From) || text(details, "to") != string(c.To) || date(doc, "time").Before(since) {
			continue
		}
		if key, err := coll.Pattern.ParseKey(document(details, "min")); err != nil || !key.Equal(c.Min) {
			continue
		}
		upper, err := coll.Pattern.ParseKey(document(details, "max"))
		if err != nil {
			continue
		}
		moved.Max = upper
		if counts := document(details, "counts"); counts != nil {
			moved.Documents, moved.Bytes, moved.Counted = integer(counts, "cloned"), integer(counts, "clonedBytes"), true
		}
		return moved, nil
	}
	return moved, nil
}

// arrival returns the time since which a chunk is on its shard; zero if it is not recorded.
func arrival(c catalog.Chunk) time.Time {
	if len(c.History) == 0 {
		return time.Time{}
	}
	return time.Unix(int64(c.History[0].ValidAfter.T), 0)
}

// RangeSize returns the size of a range. The donor counts the keys of the range, and multiplies the number
// by the average document size. For a user who may not read documents, the size is that of an average
// chunk of the donor.
func (s *StepExecutor) RangeSize(ctx context.Context, c apply.Command) (apply.RangeAmount, error) {
	size := apply.RangeAmount{Min: c.Min, Max: c.Max}
	db, _, err := catalog.SplitNamespace(c.Namespace)
	if err != nil {
		return size, err
	}
	reply, err := s.executor.runCommand(ctx, db, dataSizeCommand(c.Namespace, c.Pattern, c.Min, c.Max))
	if mongoerr.Is(err, mongoerr.Unauthorized) {
		size.Bytes, err = s.readAverageChunkSize(ctx, c)
		return size, err
	}
	size.Bytes, size.Documents, size.Counted = integer(reply, "size"), integer(reply, "numObjects"), err == nil
	return size, err
}

// dataSizeCommand returns the command that makes the owners of a range count its keys, and estimate its
// size from that.
func dataSizeCommand(ns string, p catalog.KeyPattern, lower, upper catalog.Key, more ...bson.E) bson.D {
	return append(bson.D{
		{Key: "dataSize", Value: ns}, {Key: "keyPattern", Value: p.Doc()},
		{Key: "min", Value: p.Bound(lower)}, {Key: "max", Value: p.Bound(upper)}, {Key: "estimate", Value: true},
	}, more...)
}

// readAverageChunkSize returns the size of an average chunk of a donor.
func (s *StepExecutor) readAverageChunkSize(ctx context.Context, c apply.Command) (int64, error) {
	sizes, err := s.Sizes(ctx, []string{c.Namespace})
	if err != nil {
		return 0, err
	}
	coll, err := s.executor.readCollection(ctx, c.Namespace)
	if err != nil {
		return 0, err
	}
	chunks, err := s.executor.countChunks(ctx, coll, c.From)
	return sizes[c.Namespace][c.From] / max(1, chunks), err
}

// ReadJumboChunks returns a collection, with its effective chunk size, and at most the given number of chunks
// of a shard that have the jumbo flag.
func (s *StepExecutor) ReadJumboChunks(
	ctx context.Context, ns string, shard catalog.ShardID, most int64,
) (coll catalog.Collection, chunks []catalog.Chunk, err error) {
	if coll, err = s.executor.readCollection(ctx, ns); err != nil {
		return coll, nil, err
	}
	settings, err := balancer.LoadSettings(ctx, s.executor, catalog.DefaultSettingsOf(s.executor.configRelease))
	if err != nil {
		return coll, nil, err
	}
	coll.MaxChunkSizeBytes = coll.ChunkSize(settings)
	docs, err := s.executor.findInConfig(ctx, "chunks", bson.D{
		coll.ChunkFilter(), {Key: "shard", Value: string(shard)}, {Key: "jumbo", Value: true},
	}, bson.E{Key: "limit", Value: most})
	if err != nil {
		return coll, nil, err
	}
	chunks, err = parseChunks(coll, docs)
	return coll, chunks, err
}
