package mock

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// The state of a cluster is kept as entries in buckets, on disk as in a
// snapshot. Documents of the state are BSON; those of users are as they are.

// formatVersion goes up when what older programs wrote can't be read as it is.
const formatVersion = 1

// The buckets. Those that end in a slash have a number after it: that of the
// collection or the routing table whose contents they hold.
const (
	bucketMeta        = "meta"        // format, state, parameters
	bucketShards      = "shards"      // by number
	bucketCollections = "collections" // by number
	bucketTables      = "tables"      // by namespace
	bucketViews       = "views"       // by namespace
	bucketDeletions   = "deletions"   // by number
	bucketUsers       = "users"       // by database and name
	bucketWrites      = "writes"      // retryable writes by session
	bucketDocuments   = "documents/"  // by record
	bucketExtents     = "extents/"    // virtual data, by lower bound
	bucketChunks      = "chunks/"     // by lower bound
)

// Keys of the bucket meta.
const (
	metaFormat     = "format"
	metaState      = "state"
	metaParameters = "parameters"
)

// entry is one value of the state. A nil value says that there is none any
// more, a nil key that the whole bucket is gone.
type entry struct {
	bucket     string
	key, value []byte
}

// source is where a state is read from.
type source interface {
	// each walks a bucket in the order of its keys. What it gives is good until
	// the next step.
	each(bucket string) iter.Seq2[[]byte, []byte]
}

// storedState are the clocks, counters and the source of chance.
type storedState struct {
	Time    int64          `bson:"time"` // nanoseconds since 1970
	Stamp   bson.Timestamp `bson:"stamp"`
	IDs     int64          `bson:"ids"`
	Term    int64          `bson:"term"`
	Process []byte         `bson:"process"`
	Chance  []byte         `bson:"chance"`
	HadTwo  bool           `bson:"hadTwo"`
	Release string         `bson:"release"`
}

// storedShard is a shard; a former one has the address it left.
type storedShard struct {
	ID      string `bson:"id"`
	Removed bool   `bson:"removed,omitempty"`
	Address string `bson:"address,omitempty"`
}

// storedCollection is a collection on a shard, or on the config server: shard
// 0. Its documents and virtual data are in buckets of their own.
type storedCollection struct {
	Shard     int64         `bson:"shard"`
	Namespace string        `bson:"ns"`
	UUID      bson.Binary   `bson:"uuid"`
	Options   bson.Raw      `bson:"options,omitempty"`
	Indexes   []storedIndex `bson:"indexes"`
}

type storedIndex struct {
	Name    string   `bson:"name"`
	Key     bson.Raw `bson:"key"`
	Unique  bool     `bson:"unique,omitempty"`
	Sparse  bool     `bson:"sparse,omitempty"`
	Options bson.Raw `bson:"options,omitempty"`
}

// storedTable is a routing table; its chunks are in a bucket of their own, as
// documents of config.chunks.
type storedTable struct {
	Number    int64          `bson:"number"`
	Key       bson.Raw       `bson:"key"`
	Epoch     bson.ObjectID  `bson:"epoch"`
	Timestamp bson.Timestamp `bson:"timestamp"`
}

// storedDeletion is a range deletion task.
type storedDeletion struct {
	Shard     int64       `bson:"shard"`
	Namespace string      `bson:"ns"`
	UUID      bson.Binary `bson:"uuid"`
	Min       bson.Raw    `bson:"min"`
	Max       bson.Raw    `bson:"max"`
	Now       bool        `bson:"now"`
}

// storedExtent is virtual data. Its bounds are of the key of the routing table.
type storedExtent struct {
	Min   bson.Raw `bson:"min"`
	Max   bson.Raw `bson:"max"`
	Docs  int64    `bson:"docs"`
	Bytes int64    `bson:"bytes"`
}

type storedView struct {
	On       string     `bson:"on"`
	Pipeline []bson.Raw `bson:"pipeline"`
}

// encode makes a document of a form above. They always encode.
func encode(form any) []byte {
	raw, err := bson.Marshal(form)
	if err != nil {
		panic(fmt.Sprintf("state of the mock not encoded: %v", err)) // a bug
	}
	return raw
}

func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func keyNumber(key []byte) (uint64, error) {
	if len(key) != 8 {
		return 0, fmt.Errorf("key %x is no number", key)
	}
	return binary.BigEndian.Uint64(key), nil
}

func numbered(bucket string, n uint64) string { return fmt.Sprintf("%s%d", bucket, n) }

func storedIndexes(docs *store.Collection) []storedIndex {
	var stored []storedIndex
	for _, s := range docs.Indexes()[1:] { // every collection has the one on _id
		stored = append(stored, storedIndex{Name: s.Name, Key: s.Key, Unique: s.Unique, Sparse: s.Sparse, Options: s.Options})
	}
	return stored
}

func (s storedIndex) spec() store.IndexSpec {
	return store.IndexSpec{Name: s.Name, Key: s.Key, Unique: s.Unique, Sparse: s.Sparse, Options: s.Options}
}

func storeExtent(p catalog.KeyPattern, e extent) storedExtent {
	return storedExtent{Min: p.Bound(e.min), Max: p.Bound(e.max), Docs: e.docs, Bytes: e.bytes}
}

func (s storedExtent) extent(p catalog.KeyPattern) (e extent, err error) {
	e.docs, e.bytes = s.Docs, s.Bytes
	if e.min, err = p.Key(s.Min); err != nil {
		return e, err
	}
	e.max, err = p.Key(s.Max)
	return e, err
}

// maxKeyBytes is the longest key that is kept as it is; bbolt takes 32 KiB.
const maxKeyBytes = 4096

// boundKey is the key of what begins at a bound. Those of very long bounds are
// in no order.
func boundKey(k catalog.Key) []byte {
	key := k.Bytes()
	if len(key) <= maxKeyBytes {
		return key
	}
	sum := sha256.Sum256(key)
	return append(key[:maxKeyBytes:maxKeyBytes], sum[:]...)
}

// readOptions reads a collection's options with the Go types they are made
// with: documents stay as they are.
func readOptions(raw bson.Raw) (bson.D, error) {
	elems, err := raw.Elements()
	if err != nil {
		return nil, err
	}
	var options bson.D
	for _, e := range elems {
		var value any
		if doc, isDoc := e.Value().DocumentOK(); isDoc {
			value = doc
		} else if err := e.Value().Unmarshal(&value); err != nil {
			return nil, err
		}
		options = append(options, bson.E{Key: e.Key(), Value: value})
	}
	return options, nil
}
