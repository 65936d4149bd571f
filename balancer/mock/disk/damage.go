package disk

import (
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// damage describes an unreadable or corrupt place in a file.
type damage struct {
	bucket string // empty for a damaged page of an unknown bucket
	key    []byte // of the damaged entry
	value  []byte // as found in the file
	page   uint64 // the damaged page or the page of the entry; 0 if unknown
	err    error
}

// DamageError is returned for a corrupt file.
type DamageError struct {
	// First describes the first damaged place; More is the number of other places.
	First string
	More  int
	err   error
}

func (e *DamageError) Error() string {
	if e.More > 0 {
		return fmt.Sprintf("it is damaged: %s (and %d more)", e.First, e.More)
	}
	return "it is damaged: " + e.First
}

func (e *DamageError) Unwrap() error { return e.err }

// nameResolver resolves the numbers in bucket names to the names of shards and namespaces.
type nameResolver struct {
	shards      map[uint64]string
	collections map[uint64]Collection
	tables      map[uint64]string // namespaces
}

func newNameResolver() nameResolver {
	return nameResolver{map[uint64]string{ConfigNumber: "config"}, map[uint64]Collection{}, map[uint64]string{}}
}

func (n nameResolver) learn(bucket string, key, value []byte) {
	number, err := ParseNumberKey(key)
	switch bucket {
	case BucketShards:
		var form Shard
		if err == nil && bson.Unmarshal(value, &form) == nil {
			n.shards[number] = form.ID
		}
	case BucketCollections:
		var form Collection
		if err == nil && bson.Unmarshal(value, &form) == nil {
			n.collections[number] = form
		}
	case BucketTables:
		var form Table
		if bson.Unmarshal(value, &form) == nil {
			n.tables[uint64(form.Number)] = string(key)
		}
	}
}

// describeBucket describes the contents of a bucket.
func (n nameResolver) describeBucket(name string) string {
	kind, rest, numbered := strings.Cut(name, "/")
	if !numbered {
		return name
	}
	number, _ := strconv.ParseUint(rest, 10, 64)
	coll, known := n.collections[number]
	ns := n.tables[number]
	switch {
	case kind+"/" == BucketChunks && ns != "":
		return "chunks of " + ns
	case kind+"/" != BucketChunks && known && n.shards[uint64(coll.Shard)] != "":
		return fmt.Sprintf("%s of %s on %s", kind, coll.Namespace, n.shards[uint64(coll.Shard)])
	case kind+"/" != BucketChunks && known:
		return fmt.Sprintf("%s of %s", kind, coll.Namespace)
	}
	return name
}

// describe says what is damaged and where.
func (n nameResolver) describe(d damage) string {
	var at []string
	if d.page != 0 || d.bucket == "" {
		at = append(at, fmt.Sprintf("page %d", d.page))
	}
	if d.bucket != "" {
		at = append(at, n.describeBucket(d.bucket))
	}
	if d.key != nil {
		key := fmt.Sprintf("%q", d.key)
		if number, err := ParseNumberKey(d.key); err == nil {
			key = strconv.FormatUint(number, 10)
		} else if strings.Contains(d.bucket, "/") {
			key = fmt.Sprintf("%x", d.key)
		}
		if id, err := bson.Raw(d.value).LookupErr("_id"); err == nil && strings.HasPrefix(d.bucket, BucketDocuments) {
			key += fmt.Sprintf(" (its _id reads %s)", id)
		}
		at = append(at, "record "+key)
	}
	return fmt.Sprintf("%s: %v", strings.Join(at, ", "), d.err)
}
