package catalog

import (
	"encoding/json"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// chunkJSON is the JSON form of a chunk.
type chunkJSON struct {
	ID             bson.ObjectID      `json:"id"`
	Min            Key                `json:"min"`
	Max            Key                `json:"max"`
	Shard          ShardID            `json:"shard"`
	Version        ChunkVersion       `json:"version"`
	Jumbo          *bool              `json:"jumbo,omitempty"`
	Since          timestampJSON      `json:"onCurrentShardSince,omitzero"`
	History        []chunkHistoryJSON `json:"history,omitempty"`
	EstimatedBytes *int64             `json:"estimatedDataSizeBytes,omitempty"`
}

type chunkHistoryJSON struct {
	ValidAfter timestampJSON `json:"validAfter"`
	Shard      ShardID       `json:"shard"`
}

// timestampJSON is a timestamp in extended JSON.
type timestampJSON struct {
	Timestamp struct {
		T uint32 `json:"t"`
		I uint32 `json:"i"`
	} `json:"$timestamp"`
}

func newTimestampJSON(ts bson.Timestamp) (t timestampJSON) {
	t.Timestamp.T, t.Timestamp.I = ts.T, ts.I
	return t
}

// MarshalJSON returns the chunk as an object with the field names of config.chunks, except for id and
// version. Bounds have the JSON form of Key.
func (c Chunk) MarshalJSON() ([]byte, error) {
	j := chunkJSON{ID: c.ID, Min: c.Min, Max: c.Max, Shard: c.Shard, Version: c.Version,
		Since: newTimestampJSON(c.OnCurrentShardSince)}
	if c.Jumbo != JumboUnset {
		j.Jumbo = new(c.Jumbo == JumboTrue)
	}
	for _, h := range c.History {
		j.History = append(j.History, chunkHistoryJSON{newTimestampJSON(h.ValidAfter), h.Shard})
	}
	if c.Estimate.Known() {
		j.EstimatedBytes = new(c.Estimate.Bytes())
	}
	return json.Marshal(j)
}
