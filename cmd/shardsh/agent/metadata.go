package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
)

type snapshotArguments struct {
	NS []string `json:"ns,omitempty" jsonschema:"only these collections, DB.COLLECTION; without them the largest ones"`
}

// diffParts are the parts that the tool diff compares.
const diffParts = live.DefaultPartsAndStatus | live.ExplanationData

// maxCollections is the maximum number of collections in an overview, unless they are named.
const maxCollections = 40

func (s *Server) addSnapshot() {
	add(s,
		tool{name: "snapshot", description: "What the cluster consists of: shards with their data and zones, settings of " +
			"the balancer, the largest collections with keys and chunks; its name, for the tool diff."},
		snapshotTool)
}

func snapshotTool(ctx context.Context, c *call, in snapshotArguments) (Answer, error) {
	source, err := c.Open(ctx)
	if err != nil {
		return Answer{}, err
	}
	read, err := source.Read(ctx, live.ReaderOptions{Parts: diffParts})
	if err != nil {
		return Answer{}, err
	}
	collections, err := collectionsOf(read, in.NS)
	if err != nil {
		return Answer{}, err
	}
	text, shown := overview(read, collections)
	name := c.snapshots.add(read)
	a := Answer{Answer: name + "\n" + text, Sources: append(sourcesOf(read), c.sources()...)}
	if shown < len(collections) {
		a.Truncated = true
		a.NextSteps = append(a.NextSteps, "snapshot with ns: collections that are not shown")
	}
	a.NextSteps = append(a.NextSteps, "why {}: what is wrong with it",
		fmt.Sprintf("diff {\"from\": %q}, later: what has changed since", name))
	return a, nil
}

// collectionsOf returns the named collections, or all collections, the largest first.
func collectionsOf(s *catalog.Snapshot, names []string) (list []*catalog.CollectionState, err error) {
	if len(names) == 0 {
		list = slices.Clone(s.Collections())
		slices.SortStableFunc(list, func(a, b *catalog.CollectionState) int {
			return int(min(1, max(-1, b.Bytes()-a.Bytes())))
		})
		return list, nil
	}
	for _, ns := range names {
		c := s.Collection(ns)
		if c == nil {
			return nil, errors.New("there is no sharded collection " + ns)
		}
		list = append(list, c)
	}
	return list, nil
}

// overview describes a cluster; shown is the number of collections in the text.
func overview(s *catalog.Snapshot, collections []*catalog.CollectionState) (text string, shown int) {
	var b strings.Builder
	set := s.Settings()
	fmt.Fprintf(&b, "MongoDB %s, balancer %s, chunk size %s, %s, %s\n\nShards:\n", s.Release(), set.Mode,
		humanize.Bytes(set.MaxChunkSizeBytes), humanize.Count(len(s.Shards()), "shard"),
		humanize.Count(len(s.Collections()), "collection"))
	data, chunks := make(map[catalog.ShardID]int64), make(map[catalog.ShardID]int64)
	for _, c := range s.Collections() {
		for _, shard := range s.Shards() {
			data[shard.ID] += c.Sizes[shard.ID].Bytes
			chunks[shard.ID] += c.CountOn(shard.ID).Chunks
		}
	}
	for _, shard := range s.Shards() {
		fmt.Fprintf(&b, "  %s: %s, %s", shard.ID, humanize.Bytes(data[shard.ID]), humanize.Count(chunks[shard.ID], "chunk"))
		if shard.Draining {
			b.WriteString(", draining")
		}
		if len(shard.Zones) > 0 {
			fmt.Fprintf(&b, ", zones %s", humanize.AbbreviateCollections(shard.Zones))
		}
		if shard.Unreachable != "" {
			fmt.Fprintf(&b, ", did not answer: %s", shard.Unreachable)
		}
		b.WriteString("\n")
	}
	b.WriteString("\nCollections:\n")
	for i, c := range collections {
		if i == maxCollections {
			fmt.Fprintf(&b, "  … and %d more\n", len(collections)-i)
			return b.String(), i
		}
		fmt.Fprintf(&b, "  %s: key %s, %s, %s\n", c.Namespace, c.Pattern, humanize.Count(c.Count().Chunks, "chunk"),
			humanize.Bytes(c.Bytes()))
	}
	return b.String(), len(collections)
}
