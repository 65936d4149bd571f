package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// rangeErrors holds the error code and the error messages for a list of ranges.
type rangeErrors struct {
	code                    mongoerr.Code
	start, end, gap, fields string
}

var (
	distributionErrors = rangeErrors{
		code:   mongoerr.InvalidOptions,
		start:  "ShardKeyRange must start at global min for the new shard key",
		end:    "ShardKeyRange must end at global max for the new shard key",
		gap:    "ShardKeyRanges must be continuous",
		fields: "ShardKeyRange %s should follow shard key's keyPattern",
	}
	presetChunkErrors = rangeErrors{
		code:   mongoerr.BadValue,
		start:  "Chunk range must start at global min for new shard key",
		end:    "Chunk range must end at global max for new shard key",
		gap:    "Chunk ranges must be contiguous",
		fields: "%s of a chunk must be a key of the new shard key",
	}
)

// parseDistribution parses shardDistribution: shards, or ranges of shards that tile the key space.
func (rs *Reshardings) parseDistribution(pattern catalog.KeyPattern, list []ShardRange) (
	targets []catalog.Shard, ranges []catalog.Chunk, err error) {
	if list == nil {
		shards, err := rs.config.Shards()
		return slices.DeleteFunc(shards, func(s catalog.Shard) bool { return s.Draining }), nil, err
	}
	if len(list) == 0 {
		return nil, nil, mongoerr.New(mongoerr.InvalidOptions, "ShardDistribution should not be empty")
	}
	invalid := func(text string) error { return mongoerr.New(mongoerr.InvalidOptions, "%s", text) }
	bounded := list[0].Min != nil
	for _, r := range list {
		shard, err := rs.config.ShardByID(r.Shard)
		if err != nil {
			return nil, nil, err
		}
		repeated := slices.ContainsFunc(targets, func(s catalog.Shard) bool { return s.ID == shard.ID })
		switch {
		case (r.Min == nil) != (r.Max == nil):
			return nil, nil, invalid("ShardKeyRange should have a pair of min/max or none of them")
		case repeated && !bounded:
			return nil, nil, invalid("Non-explicit shardDistribution should have unique shardIds")
		case (r.Min != nil) != bounded:
			return nil, nil, invalid("All ShardKeyRanges should have the same min/max pattern")
		case !repeated:
			targets = append(targets, shard)
		}
	}
	if bounded {
		ranges, err = rs.parseRanges(pattern, distributionErrors, list)
	}
	return targets, ranges, err
}

// parseRanges parses ranges in any order, which must tile the key space.
func (rs *Reshardings) parseRanges(
	pattern catalog.KeyPattern,
	kind rangeErrors,
	list []ShardRange,
) ([]catalog.Chunk, error) {
	var chunks []catalog.Chunk
	for _, r := range list {
		shard, err := rs.config.ShardByID(r.Shard)
		if err != nil {
			return nil, err
		}
		chunk := catalog.Chunk{Shard: shard.ID}
		for _, b := range []struct {
			name string
			raw  bson.Raw
			key  *catalog.Key
		}{{"min", r.Min, &chunk.Min}, {"max", r.Max, &chunk.Max}} {
			if *b.key, err = pattern.ParseKey(b.raw); err != nil {
				return nil, mongoerr.New(kind.code, kind.fields, b.name)
			}
		}
		chunks = append(chunks, chunk)
	}
	slices.SortFunc(chunks, func(a, b catalog.Chunk) int { return a.Min.Compare(b.Min) })
	return chunks, kind.check(pattern, chunks)
}

// check checks that sorted chunks tile the key space.
func (kind rangeErrors) check(pattern catalog.KeyPattern, chunks []catalog.Chunk) error {
	if len(chunks) == 0 || !chunks[0].Min.Equal(pattern.GlobalMin()) {
		return mongoerr.New(kind.code, "%s", kind.start)
	}
	if !chunks[len(chunks)-1].Max.Equal(pattern.GlobalMax()) {
		return mongoerr.New(kind.code, "%s", kind.end)
	}
	for i := range chunks {
		if i > 0 && !chunks[i-1].Max.Equal(chunks[i].Min) || !chunks[i].Min.Less(chunks[i].Max) {
			return mongoerr.New(kind.code, "%s", kind.gap)
		}
	}
	return nil
}
