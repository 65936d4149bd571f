package keyfacts

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyadvice"
)

// collectionZones returns the zone ranges of a collection, and the shard key fields that they use, up
// to the last field with a bound other than MinKey and MaxKey.
func collectionZones(ns string, s *catalog.Snapshot) (fields []string, ranges []keyadvice.ZoneRange) {
	for _, doc := range s.Parts().Config["tags"] {
		if of, _ := doc.Lookup("ns").StringValueOK(); of != ns {
			continue
		}
		z := keyadvice.ZoneRange{}
		z.Name, _ = doc.Lookup("tag").StringValueOK()
		z.Min, _ = doc.Lookup("min").DocumentOK()
		z.Max, _ = doc.Lookup("max").DocumentOK()
		for _, shard := range s.NonDrainingShards() {
			if shard.HasZone(z.Name) {
				z.Shards++
			}
		}
		ranges = append(ranges, z)
		for _, bound := range []bson.Raw{z.Min, z.Max} {
			if names := boundedFields(bound); len(names) > len(fields) {
				fields = names
			}
		}
	}
	return fields, ranges
}

// boundedFields returns the fields of a bound up to the last one that is neither MinKey nor
// MaxKey.
func boundedFields(bound bson.Raw) (names []string) {
	elements, _ := bound.Elements() // the elements that could be parsed
	last := 0
	for i, e := range elements {
		names = append(names, e.Key())
		if t := e.Value().Type; t != bson.TypeMinKey && t != bson.TypeMaxKey {
			last = i + 1
		}
	}
	return names[:last]
}

// minSpeedSampleBytes is the minimum size of a migration that is used to compute the migration speed. In
// smaller migrations, fixed costs dominate.
const minSpeedSampleBytes = 8 << 20

// migrationSpeed returns the number of bytes per second that the migrations of a change log have moved;
// 0 if no migration is large enough.
func migrationSpeed(log []catalog.LogEntry) float64 {
	var reader catalog.MigrationFinder
	var moved int64
	var spent time.Duration
	for _, entry := range log {
		if m, ended := reader.ReadEntry(entry); ended && m.Error == "" && m.Counted && m.Bytes >= minSpeedSampleBytes {
			took, _, _ := m.Durations()
			moved, spent = moved+m.Bytes, spent+took
		}
	}
	if spent == 0 {
		return 0
	}
	return float64(moved) / spent.Seconds()
}
