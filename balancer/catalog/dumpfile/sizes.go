package dumpfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// ErrNotSizes says that a file does not contain the output of $shardedDataDistribution.
var ErrNotSizes = errors.New("not the output of $shardedDataDistribution")

// Sizes contains the amounts of collections on each shard, by namespace.
type Sizes map[string]map[catalog.ShardID]catalog.ShardData

// OpenSizes reads a file with the output of $shardedDataDistribution in extended JSON: an array of
// documents, or a sequence of documents.
func OpenSizes(path string) (Sizes, error) {
	data, err := readPlain(path)
	if err != nil {
		return nil, err
	}
	sizes, err := readSizes(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sizes, nil
}

func readSizes(data []byte) (Sizes, error) {
	sizes := Sizes{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var value json.RawMessage
		switch err := decoder.Decode(&value); {
		case errors.Is(err, io.EOF) && len(sizes) == 0:
			return nil, fmt.Errorf("%w: it has no collection", ErrNotSizes)
		case errors.Is(err, io.EOF):
			return sizes, nil
		case err != nil:
			return nil, fmt.Errorf("%w in extended JSON (EJSON.stringify): %w", ErrNotSizes, err)
		}
		list := []json.RawMessage{value}
		if value[0] == '[' {
			list = nil
			if err := json.Unmarshal(value, &list); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrNotSizes, err)
			}
		}
		for _, text := range list {
			if err := sizes.add(text); err != nil {
				return nil, err
			}
		}
	}
}

func (z Sizes) add(text json.RawMessage) error {
	var doc bson.Raw
	if err := bson.UnmarshalExtJSON(text, false, &doc); err != nil {
		return fmt.Errorf("%w: %w", ErrNotSizes, err)
	}
	ns, sizes := catalog.ParseDistribution(doc)
	if ns == "" || len(sizes) == 0 {
		return fmt.Errorf("%w: a document lacks ns or shards", ErrNotSizes)
	}
	for id, data := range sizes {
		if id == "" || data.Bytes < 0 || data.Documents < 0 || data.Orphans < 0 || data.OrphanBytes < 0 {
			return fmt.Errorf("%w: %s has invalid sizes", ErrNotSizes, ns)
		}
	}
	z[ns] = sizes
	return nil
}

// ApplyTo returns a Snapshot with these sizes instead of its own. Collections without sizes are
// recorded as gaps.
func (z Sizes) ApplyTo(s *catalog.Snapshot) *catalog.Snapshot {
	parts := s.Parts()
	parts.Source.Gaps = slices.DeleteFunc(slices.Clone(parts.Source.Gaps), func(g catalog.Gap) bool {
		return g.What == "sizes"
	})
	parts.Collections = slices.Clone(parts.Collections)
	for i, c := range parts.Collections {
		if c.Unsplittable {
			continue
		}
		next := *c
		next.Sizes = map[catalog.ShardID]catalog.ShardData{}
		given := z[c.Namespace]
		if given == nil {
			parts.Source.Gaps = append(parts.Source.Gaps, catalog.Gap{What: "sizes", Namespace: c.Namespace,
				Reason: "the file of sizes does not contain the collection"})
		}
		for _, shard := range parts.Shards {
			if data, told := given[shard.ID]; told || given != nil && c.CountOn(shard.ID).Chunks == 0 {
				next.Sizes[shard.ID] = data
			}
		}
		parts.Collections[i] = &next
	}
	return catalog.NewSnapshot(parts)
}
