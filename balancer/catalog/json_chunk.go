package catalog

import (
	"encoding/json"
	"fmt"

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
	Since          *timestampJSON     `json:"onCurrentShardSince,omitempty"`
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

func (t timestampJSON) timestamp() bson.Timestamp {
	return bson.Timestamp{T: t.Timestamp.T, I: t.Timestamp.I}
}

// MarshalJSON returns the chunk as an object with the field names of config.chunks, except for id and
// version. Bounds have the JSON form of Key.
func (c Chunk) MarshalJSON() ([]byte, error) {
	j := chunkJSON{ID: c.ID, Min: c.Min, Max: c.Max, Shard: c.Shard, Version: c.Version}
	if c.Jumbo != JumboUnset {
		flagged := c.Jumbo == JumboTrue
		j.Jumbo = &flagged
	}
	if !c.OnCurrentShardSince.IsZero() {
		since := newTimestampJSON(c.OnCurrentShardSince)
		j.Since = &since
	}
	for _, h := range c.History {
		j.History = append(j.History, chunkHistoryJSON{newTimestampJSON(h.ValidAfter), h.Shard})
	}
	if c.Estimate.Known() {
		bytes := c.Estimate.Bytes()
		j.EstimatedBytes = &bytes
	}
	return json.Marshal(j)
}

// UnmarshalJSON parses the output of MarshalJSON. A chunk must have a range and a shard.
func (c *Chunk) UnmarshalJSON(data []byte) error {
	var j chunkJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	switch {
	case !j.Min.Less(j.Max):
		return fmt.Errorf("chunk min %s is not below max %s", j.Min, j.Max)
	case j.Shard == "":
		return fmt.Errorf("chunk from %s on has no shard", j.Min)
	case j.EstimatedBytes != nil && *j.EstimatedBytes < 0:
		return fmt.Errorf("chunk from %s on has an estimated size of %d", j.Min, *j.EstimatedBytes)
	}
	*c = Chunk{ID: j.ID, Min: j.Min, Max: j.Max, Shard: j.Shard, Version: j.Version}
	if j.Jumbo != nil {
		if c.Jumbo = JumboFalse; *j.Jumbo {
			c.Jumbo = JumboTrue
		}
	}
	if j.Since != nil {
		c.OnCurrentShardSince = j.Since.timestamp()
	}
	for _, h := range j.History {
		c.History = append(c.History, ChunkHistory{h.ValidAfter.timestamp(), h.Shard})
	}
	if j.EstimatedBytes != nil {
		c.Estimate = NewEstimate(*j.EstimatedBytes)
	}
	return nil
}
