package catalog

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// ShardID is the _id of a shard.
type ShardID string

// Shard contains the fields of an entry of config.shards that balancing needs
// (rules/01-rounds-and-settings §3.1, rules/03-catalog-and-keys §3.1).
type Shard struct {
	ID       ShardID
	Host     string // "<replica set>/<host:port>,..."
	Draining bool
	Zones    []string // the tags; nil if the field is absent
	State    int32    // 1 = shard aware

	// MaxSizeMB is the size limit of releases up to 5.0, in MiB; 0 = none. SizeMB is the current size
	// in MiB if there is a limit; it is not in the document (rules/01-rounds-and-settings §3.1).
	MaxSizeMB, SizeMB int64
}

// Full reports whether the shard has reached its maxSize, so that it receives nothing. Releases after
// 5.0 do not check it.
func (s Shard) Full() bool { return s.MaxSizeMB > 0 && s.SizeMB > 0 && s.SizeMB >= s.MaxSizeMB }

// ParseShard parses a config.shards document. _id and host must be non-empty strings; unknown fields
// are ignored.
func ParseShard(raw bson.Raw) (Shard, error) {
	var s Shard
	err := eachField(raw, func(f field) error {
		switch f.name {
		case "_id":
			return f.text((*string)(&s.ID))
		case "host":
			return f.text(&s.Host)
		case "draining":
			return f.bool(&s.Draining)
		case "tags":
			return f.texts(&s.Zones)
		case "state":
			return f.int32(&s.State)
		case "maxSize":
			// Releases without maxSize accept any value.
			s.MaxSizeMB, _ = f.value.AsInt64OK()
		}
		return nil
	})
	switch {
	case err != nil:
		return Shard{}, mongoerr.Wrap(err, "invalid config.shards document")
	case s.ID == "":
		return Shard{}, missingFieldError("config.shards document", "_id")
	case s.Host == "":
		return Shard{}, missingFieldError("config.shards document", "host")
	}
	return s, nil
}

// HasZone reports whether the shard belongs to the zone.
func (s Shard) HasZone(zone string) bool { return slices.Contains(s.Zones, zone) }

// Doc returns the config.shards document in the order of rules/03-catalog-and-keys §3.1. The caller has
// to append fields that Shard does not contain.
func (s Shard) Doc() bson.D {
	d := bson.D{{Key: "_id", Value: string(s.ID)}, {Key: "host", Value: s.Host}}
	if s.Draining {
		d = append(d, bson.E{Key: "draining", Value: true})
	}
	if s.Zones != nil {
		d = append(d, bson.E{Key: "tags", Value: s.Zones})
	}
	return append(d, bson.E{Key: "state", Value: s.State})
}

// DataSizes contains the number of bytes of a collection that each shard owns, without orphans, and the
// collection's chunk size (rules/01-rounds-and-settings §3.3). A shard that could not be asked has no
// entry.
type DataSizes struct {
	ByShard           map[ShardID]int64
	MaxChunkSizeBytes int64
}
