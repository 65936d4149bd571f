package salvage

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/disk"
)

// The metadata say the same in several places: what is lost in one is made of
// another.

// freshNumber returns a number that nothing has yet.
func (w *wreck) freshNumber() uint64 {
	most := uint64(disk.ConfigNumber)
	for _, numbers := range []map[uint64]bool{keysOf(w.shards), keysOf(w.places), keysOf(w.tables)} {
		for n := range numbers {
			most = max(most, n)
		}
	}
	for _, e := range w.Memory[disk.BucketDeletions] {
		if n, err := disk.KeyNumber(e.Key); err == nil {
			most = max(most, n)
		}
	}
	return most + 1
}

func keysOf[T any](m map[uint64]T) map[uint64]bool {
	keys := map[uint64]bool{}
	for n := range m {
		keys[n] = true
	}
	return keys
}

// put adds an entry.
func (w *wreck) put(bucket string, key []byte, form any) error {
	raw, err := bson.Marshal(form)
	if err != nil {
		return err
	}
	w.Memory[bucket] = append(w.Memory[bucket], disk.Entry{Bucket: bucket, Key: key, Value: raw})
	w.Memory.Sort()
	return nil
}

// config returns the number of a collection of the config database, which is
// made when it is missing.
func (w *wreck) config(name string) (uint64, error) {
	for number, at := range w.places {
		if at.form.Shard == disk.ConfigNumber && at.form.Namespace == name {
			return number, nil
		}
	}
	number := w.freshNumber()
	form := disk.Collection{Shard: disk.ConfigNumber, Namespace: name}
	w.places[number] = place{form, "config"}
	return number, w.put(disk.BucketCollections, disk.NumberKey(number), form)
}

// documentsOf returns the documents of a collection of the config database, by
// _id.
func (w *wreck) documentsOf(name string) (map[string]bson.Raw, error) {
	number, err := w.config(name)
	docs := map[string]bson.Raw{}
	for _, e := range w.Memory[disk.Numbered(disk.BucketDocuments, number)] {
		if id, isText := bson.Raw(e.Value).Lookup("_id").StringValueOK(); isText {
			docs[id] = e.Value
		}
	}
	return docs, err
}

// insert adds a document to a collection of the config database.
func (w *wreck) insert(name string, doc bson.D) error {
	number, err := w.config(name)
	if err != nil {
		return err
	}
	bucket, record := disk.Numbered(disk.BucketDocuments, number), uint64(1)
	for _, e := range w.Memory[bucket] {
		if n, err := disk.KeyNumber(e.Key); err == nil {
			record = max(record, n+1)
		}
	}
	return w.put(bucket, disk.NumberKey(record), doc)
}

// mendMetadata makes what is lost of what is there.
func (w *wreck) mendMetadata(lose func(string, ...any)) error {
	mends := []func(func(string, ...any)) error{w.mendShards, w.mendTables, w.mendCollections, w.mendDatabases}
	for _, mend := range mends {
		if err := mend(lose); err != nil {
			return err
		}
		w.name()
	}
	return nil
}

// mendShards wants every shard in config.shards and among those that hold
// something, also one that only chunks or databases name.
func (w *wreck) mendShards(lose func(string, ...any)) error {
	docs, err := w.documentsOf("config.shards")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, e := range w.Memory[disk.BucketShards] {
		var form disk.Shard
		if bson.Unmarshal(e.Value, &form) == nil && !form.Removed {
			known[form.ID] = true
		}
	}
	named, err := w.namedShards()
	if err != nil {
		return err
	}
	maps.Copy(named, known)
	for id := range docs {
		named[id] = true
	}
	if w.members = named; len(named) == 0 {
		return errors.New("no shard can be read")
	}
	for _, id := range slices.Sorted(maps.Keys(named)) {
		if docs[id] == nil {
			lose("the entry of %s in config.shards: it was made again", id)
			err := w.insert("config.shards", bson.D{
				{Key: "_id", Value: id}, {Key: "host", Value: id + "/" + id + ":27017"},
				{Key: "state", Value: int32(1)}, {Key: "topologyTime", Value: bson.Timestamp{T: 1}},
			})
			if err != nil {
				return err
			}
		}
		if known[id] {
			continue
		}
		if err := w.addShard(id, len(named) == len(known)+1, lose); err != nil {
			return err
		}
	}
	return nil
}

// addShard makes the entry of a shard. If it is the only one without, what
// belongs to nobody is its.
func (w *wreck) addShard(id string, alone bool, lose func(string, ...any)) error {
	number, lost := w.freshNumber(), w.numberless()
	if alone && len(lost) == 1 {
		number = lost[0]
	} else {
		lose("what %s held: it is empty", id)
	}
	w.shards[number] = id
	return w.put(disk.BucketShards, disk.NumberKey(number), disk.Shard{ID: id})
}

// namedShards are the shards that chunks and databases name.
func (w *wreck) namedShards() (map[string]bool, error) {
	named := map[string]bool{}
	note := func(v bson.RawValue) {
		if name, isText := v.StringValueOK(); isText && name != "config" {
			named[name] = true
		}
	}
	for bucket := range w.Memory.Buckets() {
		if !strings.HasPrefix(bucket, disk.BucketChunks) {
			continue
		}
		for _, e := range w.Memory[bucket] {
			note(bson.Raw(e.Value).Lookup("shard"))
		}
	}
	docs, err := w.documentsOf("config.databases")
	for _, doc := range docs {
		note(doc.Lookup("primary"))
	}
	return named, err
}

// numberless returns the shards that hold something and have no entry.
func (w *wreck) numberless() (numbers []uint64) {
	for _, at := range w.places {
		if n := uint64(at.form.Shard); w.shards[n] == "" && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// collectionEntry is what config.collections says that a table needs.
type collectionEntry struct {
	Key       bson.Raw       `bson:"key"`
	Epoch     bson.ObjectID  `bson:"lastmodEpoch"`
	Timestamp bson.Timestamp `bson:"timestamp"`
}

// mendTables makes tables, without chunks, for what config.collections has.
func (w *wreck) mendTables(lose func(string, ...any)) error {
	docs, err := w.documentsOf("config.collections")
	if err != nil {
		return err
	}
	for _, ns := range slices.Sorted(maps.Keys(docs)) {
		var entry collectionEntry
		if slices.Contains(slices.Collect(maps.Values(w.tables)), ns) || bson.Unmarshal(docs[ns], &entry) != nil {
			continue
		}
		if entry.Key == nil {
			continue // a form that older releases have for what was dropped
		}
		lose("the routing table of %s", ns)
		number := w.freshNumber()
		err := w.put(disk.BucketTables, []byte(ns), disk.Table{
			Number: int64(number), Key: entry.Key, Epoch: entry.Epoch, Timestamp: entry.Timestamp,
		})
		if err != nil {
			return err
		}
		w.tables[number] = ns
	}
	return nil
}

// mendCollections makes entries in config.collections for tables.
func (w *wreck) mendCollections(lose func(string, ...any)) error {
	docs, err := w.documentsOf("config.collections")
	if err != nil {
		return err
	}
	for _, e := range w.Memory[disk.BucketTables] {
		var form disk.Table
		ns := string(e.Key)
		if docs[ns] != nil || bson.Unmarshal(e.Value, &form) != nil {
			continue
		}
		lose("the entry of %s in config.collections: it was made again", ns)
		err := w.insert("config.collections", bson.D{
			{Key: "_id", Value: ns}, {Key: "lastmodEpoch", Value: form.Epoch},
			{Key: "lastmod", Value: bson.NewDateTimeFromTime(time.Unix(int64(form.Timestamp.T), 0))},
			{Key: "timestamp", Value: form.Timestamp}, {Key: "uuid", Value: w.uuid(ns)}, {Key: "key", Value: form.Key},
			{Key: "unique", Value: false}, {Key: "noBalance", Value: false},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// uuid is that of a collection on shards.
func (w *wreck) uuid(ns string) (uuid bson.Binary) {
	for _, at := range w.places {
		if at.form.Namespace == ns && at.form.Shard != disk.ConfigNumber {
			uuid = at.form.UUID
		}
	}
	return uuid
}

// mendDatabases makes entries in config.databases for what shards hold. The
// primary is the shard that has most collections.
func (w *wreck) mendDatabases(lose func(string, ...any)) error {
	docs, err := w.documentsOf("config.databases")
	if err != nil {
		return err
	}
	counts := map[string]map[string]int{}
	for _, at := range w.places {
		db, _, _ := catalog.SplitNamespace(at.form.Namespace)
		if !w.members[at.on] || db == "config" || db == "admin" || docs[db] != nil {
			continue
		}
		if counts[db] == nil {
			counts[db] = map[string]int{}
		}
		counts[db][at.on]++
	}
	for _, db := range slices.Sorted(maps.Keys(counts)) {
		primary := most(counts[db])
		lose("the entry of %s in config.databases: its primary is said to be %s", db, primary)
		err := w.insert("config.databases", bson.D{
			{Key: "_id", Value: db}, {Key: "primary", Value: primary},
			{Key: "version", Value: bson.D{
				{Key: "uuid", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}},
				{Key: "timestamp", Value: bson.Timestamp{T: 1}}, {Key: "lastMod", Value: int32(1)},
			}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
