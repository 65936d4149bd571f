package catalog

import (
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// Jumbo is the jumbo flag of a chunk. A split writes an explicit false, which is distinct from an
// absent flag.
type Jumbo uint8

// The states of the jumbo flag.
const (
	JumboUnset Jumbo = iota
	JumboFalse
	JumboTrue
)

// ChunkHistory says from which time on a chunk was on a shard.
type ChunkHistory struct {
	ValidAfter bson.Timestamp
	Shard      ShardID
}

// Chunk is the range [Min, Max) of a collection on one shard: a config.chunks
// document (rules/02-migration-and-metadata §6.1).
type Chunk struct {
	ID                  bson.ObjectID
	Min, Max            Key
	Shard               ShardID
	Version             ChunkVersion
	Jumbo               Jumbo
	OnCurrentShardSince bson.Timestamp // zero = absent (before 7.0)
	History             []ChunkHistory // newest first
	Estimate            Estimate       // set during defragmentation
}

// Doc returns the config.chunks document in the server's field order. A chunk with OnCurrentShardSince
// but without history gets the one entry it implies, because the server never writes one of the fields
// without the other.
func (c Chunk) Doc(p KeyPattern, uuid bson.Binary) bson.D {
	d := bson.D{
		{Key: "_id", Value: c.ID},
		{Key: "uuid", Value: uuid},
		{Key: "min", Value: p.Bound(c.Min)},
		{Key: "max", Value: p.Bound(c.Max)},
		{Key: "shard", Value: string(c.Shard)},
		{Key: "lastmod", Value: c.Version.Timestamp()},
	}
	if c.Estimate.Known() {
		var bytes any = c.Estimate.Bytes()
		if n, fits := c.Estimate.Int32(); fits {
			bytes = n
		}
		d = append(d, bson.E{Key: "estimatedDataSizeBytes", Value: bytes})
	}
	if c.Jumbo != JumboUnset {
		d = append(d, bson.E{Key: "jumbo", Value: c.Jumbo == JumboTrue})
	}
	history := c.History
	if !c.OnCurrentShardSince.IsZero() {
		d = append(d, bson.E{Key: "onCurrentShardSince", Value: c.OnCurrentShardSince})
		if len(history) == 0 {
			history = []ChunkHistory{{c.OnCurrentShardSince, c.Shard}}
		}
	}
	if len(history) == 0 {
		return d
	}
	entries := make(bson.A, len(history))
	for i, h := range history {
		entries[i] = bson.D{{Key: "validAfter", Value: h.ValidAfter}, {Key: "shard", Value: string(h.Shard)}}
	}
	return append(d, bson.E{Key: "history", Value: entries})
}

// ParseChunk reads a config.chunks document. Unknown fields, such as those of
// older versions, are ignored, and so is an _id that is not an ObjectId.
func ParseChunk(p KeyPattern, raw bson.Raw) (Chunk, error) {
	var s storedChunk
	if err := s.read(raw); err != nil {
		return Chunk{}, err
	}
	c := Chunk{
		ID:                  s.id,
		Shard:               ShardID(s.shard),
		Version:             s.version,
		Jumbo:               s.jumbo,
		OnCurrentShardSince: s.since,
		Estimate:            s.size,
	}
	var err error
	if c.Min, err = p.ParseKey(s.min); err != nil {
		return Chunk{}, err
	}
	if c.Max, err = p.ParseKey(s.max); err != nil {
		return Chunk{}, err
	}
	if !c.Min.Less(c.Max) {
		return Chunk{}, mongoerr.New(mongoerr.BadValue, "chunk min %s is not below max %s", s.min, s.max)
	}
	err = s.eachHistory(func(at bson.Timestamp, shard []byte) {
		c.History = append(c.History, ChunkHistory{at, ShardID(shard)})
	})
	if err != nil {
		return Chunk{}, err
	}
	if len(c.History) == 0 && !c.OnCurrentShardSince.IsZero() {
		c.History = []ChunkHistory{{c.OnCurrentShardSince, c.Shard}}
	}
	return c, nil
}

// storedChunk contains the fields of a config.chunks document, read in one pass. Fields that are not
// plain numbers are slices of the document's bytes.
type storedChunk struct {
	id       bson.ObjectID
	min, max []byte
	shard    []byte
	version  ChunkVersion
	jumbo    Jumbo
	since    bson.Timestamp
	history  []byte
	size     Estimate

	hasVersion bool
}

func (s *storedChunk) read(raw []byte) error {
	*s = storedChunk{}
	for w := keyorder.NewWalk(raw); w.Next(); {
		if err := s.setField(&w.Element); err != nil {
			return err
		}
	}
	switch {
	case s.min == nil:
		return missingFieldError("config.chunks document", "min")
	case s.max == nil:
		return missingFieldError("config.chunks document", "max")
	case len(s.shard) == 0:
		return missingFieldError("config.chunks document", "shard")
	case !s.hasVersion:
		return missingFieldError("config.chunks document", "lastmod")
	}
	return nil
}

func (s *storedChunk) setField(e *keyorder.Element) error {
	v := &e.Value
	switch string(e.Name) {
	case "_id":
		if v.Type == bson.TypeObjectID {
			s.id = bson.ObjectID(v.Value)
		}
	case "min":
		if v.Type != bson.TypeEmbeddedDocument {
			return field{"min", *v}.mismatchError("an object")
		}
		s.min = v.Value
	case "max":
		if v.Type != bson.TypeEmbeddedDocument {
			return field{"max", *v}.mismatchError("an object")
		}
		s.max = v.Value
	case "shard":
		if v.Type != bson.TypeString {
			return field{"shard", *v}.mismatchError("a string")
		}
		s.shard = v.Value[4 : len(v.Value)-1]
	case "lastmod":
		// Very old versions wrote a date (rules/02-migration-and-metadata §6.1).
		if v.Type != bson.TypeTimestamp && v.Type != bson.TypeDateTime {
			return field{"lastmod", *v}.mismatchError("a timestamp")
		}
		s.version = VersionFromTimestamp(storedTimestamp(v.Value))
		s.hasVersion = true
	case "jumbo":
		var jumbo bool
		if err := (field{"jumbo", *v}).bool(&jumbo); err != nil {
			return err
		}
		s.jumbo = JumboFalse
		if jumbo {
			s.jumbo = JumboTrue
		}
	case "onCurrentShardSince":
		if v.Type != bson.TypeTimestamp {
			return field{"onCurrentShardSince", *v}.mismatchError("a timestamp")
		}
		s.since = storedTimestamp(v.Value)
	case "history":
		if v.Type != bson.TypeArray {
			return field{"history", *v}.mismatchError("an array")
		}
		s.history = v.Value
	case "estimatedDataSizeBytes":
		var bytes int64
		err := field{"estimatedDataSizeBytes", *v}.int64(&bytes)
		s.size = NewEstimate(bytes)
		return err
	}
	return nil
}

func storedTimestamp(b []byte) bson.Timestamp {
	n := binary.LittleEndian.Uint64(b)
	return bson.Timestamp{T: uint32(n >> 32), I: uint32(n)}
}

// eachHistory reads the history, newest entry first. The first entry must agree with
// onCurrentShardSince if that is set (BadValue otherwise).
func (s *storedChunk) eachHistory(read func(validAfter bson.Timestamp, shard []byte)) error {
	first := true
	for e := keyorder.NewWalk(s.history); e.Next(); {
		if e.Value.Type != bson.TypeEmbeddedDocument {
			return field{"history", e.Value}.mismatchError("an array of objects")
		}
		var at bson.Timestamp
		var shard []byte
		for h := keyorder.NewWalk(e.Value.Value); h.Next(); {
			switch v := &h.Value; {
			case string(h.Name) == "validAfter" && v.Type == bson.TypeTimestamp:
				at = storedTimestamp(v.Value)
			case string(h.Name) == "shard" && v.Type == bson.TypeString:
				shard = v.Value[4 : len(v.Value)-1]
			}
		}
		if len(shard) == 0 {
			return mongoerr.New(mongoerr.NoSuchKey, "entry of chunk history lacks a shard: %s", humanize.ValueLiteral(e.Value))
		}
		if first && !s.since.IsZero() && at != s.since {
			return mongoerr.New(mongoerr.BadValue, "chunk history begins at %v but onCurrentShardSince is %v", at, s.since)
		}
		first = false
		read(at, shard)
	}
	return nil
}

// CoverExactly reports whether chunks in key order cover exactly [lower, upper).
func CoverExactly(chunks []Chunk, lower, upper Key) bool {
	at := lower
	for _, chunk := range chunks {
		if !chunk.Min.Equal(at) {
			return false
		}
		at = chunk.Max
	}
	return len(chunks) > 0 && at.Equal(upper)
}
