package keyfacts

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyadvice"
)

// zones returns the ranges of a collection that are in zones, and by which fields they
// are: up to the last one that has a bound of its own.
func zones(ns string, s *catalog.Snapshot) (fields []string, ranges []keyadvice.Zone) {
	for _, doc := range s.Parts().Config["tags"] {
		if of, _ := doc.Lookup("ns").StringValueOK(); of != ns {
			continue
		}
		z := keyadvice.Zone{}
		z.Name, _ = doc.Lookup("tag").StringValueOK()
		z.Min, _ = doc.Lookup("min").DocumentOK()
		z.Max, _ = doc.Lookup("max").DocumentOK()
		for _, shard := range s.Shards() {
			if shard.HasZone(z.Name) && !shard.Draining {
				z.Shards++
			}
		}
		ranges = append(ranges, z)
		for _, bound := range []bson.Raw{z.Min, z.Max} {
			if names := bounded(bound); len(names) > len(fields) {
				fields = names
			}
		}
	}
	return fields, ranges
}

// bounded returns the fields of a bound up to the last one that is neither MinKey nor
// MaxKey.
func bounded(bound bson.Raw) (names []string) {
	elements, _ := bound.Elements() // those that could be read
	last := 0
	for i, e := range elements {
		names = append(names, e.Key())
		if t := e.Value().Type; t != bson.TypeMinKey && t != bson.TypeMaxKey {
			last = i + 1
		}
	}
	return names[:last]
}

// telling is how many bytes a migration has to move to tell how fast migrations are: of
// smaller ones most of the time is spent on other things.
const telling = 8 << 20

// speed is how many bytes a second the migrations of a change log moved; 0 when none
// tells.
func speed(log []catalog.LogEntry) float64 {
	var reader catalog.MigrationLog
	var moved int64
	var spent time.Duration
	for _, entry := range log {
		if m, ended := reader.Next(entry); ended && m.Error == "" && m.Counted && m.Bytes >= telling {
			took, _, _ := m.Durations()
			moved, spent = moved+m.Bytes, spent+took
		}
	}
	if spent == 0 {
		return 0
	}
	return float64(moved) / spent.Seconds()
}
