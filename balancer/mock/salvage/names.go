package salvage

import (
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/disk"
)

// place is a collection on a node.
type place struct {
	form disk.Collection
	on   string
}

// name finds out what the numbers stand for.
func (w *wreck) name() {
	w.shards, w.places, w.tables = map[uint64]string{disk.ConfigNumber: "config"}, map[uint64]place{}, map[uint64]string{}
	for _, e := range w.Memory[disk.BucketShards] {
		var form disk.Shard
		if n, err := disk.KeyNumber(e.Key); err == nil && bson.Unmarshal(e.Value, &form) == nil {
			w.shards[n] = form.ID
		}
	}
	for _, e := range w.Memory[disk.BucketCollections] {
		var form disk.Collection
		if n, err := disk.KeyNumber(e.Key); err == nil && bson.Unmarshal(e.Value, &form) == nil {
			w.places[n] = place{form, w.shard(uint64(form.Shard))}
		}
	}
	for _, e := range w.Memory[disk.BucketTables] {
		var form disk.Table
		if bson.Unmarshal(e.Value, &form) == nil {
			w.tables[uint64(form.Number)] = string(e.Key)
		}
	}
}

func (w *wreck) shard(number uint64) string {
	if name := w.shards[number]; name != "" {
		return name
	}
	return fmt.Sprintf("shard number %d", number)
}

// bucket says what a bucket holds.
func (w *wreck) bucket(name string) string {
	kind, rest, contents := strings.Cut(name, "/")
	if !contents {
		switch kind {
		case disk.BucketSums:
			return "the totals of buckets"
		case disk.BucketMeta:
			return "the clocks, counters and parameters"
		case disk.BucketWrites:
			return "the retryable writes"
		}
		return "the " + kind
	}
	number, err := strconv.ParseUint(rest, 10, 64)
	at, known := w.places[number]
	switch {
	case err != nil:
		return name
	case kind+"/" == disk.BucketChunks:
		if ns := w.tables[number]; ns != "" {
			return "the chunks of " + ns
		}
		return "the chunks of a lost collection"
	case kind+"/" == disk.BucketExtents:
		kind = "virtual data"
	}
	if !known {
		return fmt.Sprintf("the %s of a lost collection (%s)", kind, name)
	}
	return fmt.Sprintf("the %s of %s on %s", kind, at.form.Namespace, at.on)
}

// entry says which entry of a bucket one is.
func (w *wreck) entry(bucket string, key, value []byte) string {
	name := fmt.Sprintf("%q", key)
	if n, err := disk.KeyNumber(key); err == nil {
		name = strconv.FormatUint(n, 10)
	} else if strings.HasPrefix(bucket, disk.BucketChunks) || strings.HasPrefix(bucket, disk.BucketExtents) {
		name = fmt.Sprintf("%x", key)
	}
	text := fmt.Sprintf("record %s of %s", name, w.bucket(bucket))
	if id, err := bson.Raw(value).LookupErr("_id"); err == nil && strings.HasPrefix(bucket, disk.BucketDocuments) {
		text += fmt.Sprintf(" (its _id reads %s)", id)
	}
	return text
}

// tell says what is damaged.
func (w *wreck) tell(d disk.Damage) string {
	switch {
	case d.Key != nil:
		return fmt.Sprintf("%s: %v", w.entry(d.Bucket, d.Key, d.Value), d.Err)
	case d.Page == 0 && d.Bucket != "":
		return fmt.Sprintf("%s: %v", w.bucket(d.Bucket), d.Err)
	case d.Bucket != "":
		return fmt.Sprintf("page %d, of %s: %v", d.Page, w.bucket(d.Bucket), d.Err)
	}
	return d.String()
}
