package action

import (
	"context"
	"encoding/json"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
)

// Why explains what is wrong with a cluster, or with the named collection, shard or zone, and what
// causes it.
type Why struct {
	Namespace string
	// Key is the shard key of a chunk of the collection, to explain why the chunk is on its shard.
	Key   bson.Raw
	Shard catalog.ShardID
	Zone  string
	// TimeZone is the time zone of the config servers, as in Forecast.
	TimeZone string
	// AdvisoriesFile is a file that adds known server faults or mutes some.
	AdvisoriesFile string
}

// WhyResult is the answer: Answer about a cluster or a part of it, or Chunk about a chunk.
type WhyResult struct {
	Answer *diagnosis.Answer
	Chunk  *diagnosis.ChunkAnswer
}

// MarshalJSON returns the answer that is set.
func (r WhyResult) MarshalJSON() ([]byte, error) {
	if r.Chunk != nil {
		return json.Marshal(r.Chunk)
	}
	return json.Marshal(r.Answer)
}

// Validate refuses options that exclude each other.
func (w Why) Validate() error {
	named := 0
	for _, name := range []string{w.Namespace, string(w.Shard), w.Zone} {
		if name != "" {
			named++
		}
	}
	switch {
	case named > 1:
		return refuse("{ns}, {shard} and {zone} exclude each other")
	case w.Key != nil && w.Namespace == "":
		return refuse("{key} needs {ns}: it is the key of a chunk of a collection")
	}
	if _, err := LoadAdvisories(w.AdvisoriesFile); err != nil {
		return err
	}
	_, err := locationOf(w.TimeZone)
	return err
}

// defaultMaxFullTableChunks is the number of chunks up to which all routing tables of a cluster are read.
const defaultMaxFullTableChunks = 500_000

// readerOptions returns which parts to read: the routing tables of the named collection, or of the
// collections that may not be balanced; in a small cluster the routing tables of all collections.
func (w Why) readerOptions() live.ReaderOptions {
	o := live.ReaderOptions{Parts: live.DefaultPartsAndStatus | live.ExplanationData | live.ChunkCounts}
	asked := func(ns string) bool { return ns == w.Namespace || ns == catalog.BucketsNamespace(w.Namespace) }
	if w.Namespace != "" {
		o.WantsDetails = asked
		o.WantsTable = func(_ *catalog.Snapshot, c *catalog.CollectionState) bool { return asked(c.Namespace) }
		return o
	}
	o.WantsTable = defaultTableFilter()
	return o
}

// defaultTableFilter returns a function for ReaderOptions.WantsTable. It selects all collections of a small
// cluster, and in a large cluster the collections that may not be balanced.
func defaultTableFilter() func(*catalog.Snapshot, *catalog.CollectionState) bool {
	chunks := int64(-1)
	return func(s *catalog.Snapshot, c *catalog.CollectionState) bool {
		if chunks < 0 {
			chunks = 0
			for _, c := range s.Collections() {
				chunks += c.Count().Chunks
			}
		}
		return chunks <= defaultMaxFullTableChunks || !c.Unsplittable && !diagnosis.IsBalancedByTotals(s, c)
	}
}

// Run reads the cluster and answers. If the cluster does not have a name in the options, the error is a
// *diagnosis.NotFoundError.
func (w Why) Run(ctx context.Context, source Source, r Reporter) (WhyResult, error) {
	if err := w.Validate(); err != nil {
		return WhyResult{}, err
	}
	s, err := source.readAndReport(ctx, w.readerOptions(), w.TimeZone, &serialReporter{next: r})
	if err != nil {
		return WhyResult{}, err
	}
	scope := diagnosis.Scope{Namespace: w.Namespace, Shard: w.Shard, Zone: w.Zone}
	if err := diagnosis.CheckScope(s, scope); err != nil {
		if w.Key == nil && w.Namespace != "" {
			if a, ok := diagnosis.WhyNotSharded(s, w.Namespace, source.hasCollection(ctx, w.Namespace)); ok {
				return WhyResult{Answer: &a}, nil
			}
		}
		return WhyResult{}, err
	}
	if w.Key == nil {
		list, err := LoadAdvisories(w.AdvisoriesFile)
		a := diagnosis.Why(s, scope)
		if w.Shard == "" && w.Zone == "" {
			a.KnownFaults = KnownFaults(s, list, w.Namespace)
		}
		return WhyResult{Answer: &a}, err
	}
	a, err := diagnosis.WhyKey(s, w.Namespace, w.Key)
	if wrong, is := errors.AsType[*diagnosis.KeyError](err); is {
		return WhyResult{}, refuse("{key}: %s", wrong)
	}
	return WhyResult{Chunk: &a}, err
}
