package mock

import (
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// ChangeKind is what a change stream calls an operation.
type ChangeKind string

// The kinds of changes that are noted.
const (
	ChangeInsert       ChangeKind = "insert"
	ChangeUpdate       ChangeKind = "update"
	ChangeReplace      ChangeKind = "replace"
	ChangeDelete       ChangeKind = "delete"
	ChangeDrop         ChangeKind = "drop"
	ChangeRename       ChangeKind = "rename"
	ChangeDropDatabase ChangeKind = "dropDatabase"
)

// Change is one entry of what change streams read, in place of an oplog.
type Change struct {
	Kind          ChangeKind
	At            bson.Timestamp // no two have the same
	Wall          time.Time
	Namespace, To string // To is the new name of a rename
	Key           bson.D // documentKey
	Before, After bson.Raw
	// Images: the collection keeps pre- and post-images.
	Images bool
}

// What is remembered for streams that resume: so many changes, of so many bytes.
const (
	maxChanges     = 10_000
	maxChangeBytes = 64 << 20
)

// ChangeFeed is what change streams read. Changes are noted from the first
// stream on.
type ChangeFeed struct {
	c *Cluster

	on    bool
	list  []Change
	bytes int
	// gone is the time of the newest change that is not remembered.
	gone bson.Timestamp
}

// Changes returns the feed of the cluster's change streams.
func (c *Cluster) Changes() *ChangeFeed { return c.changes }

// reset forgets all changes, and notes none until a stream begins.
func (cf *ChangeFeed) reset() { *cf = ChangeFeed{c: cf.c} }

// Start begins to note changes, if that has not begun, and returns the time
// it is.
func (cf *ChangeFeed) Start() bson.Timestamp {
	if !cf.on {
		*cf = ChangeFeed{c: cf.c, on: true, gone: cf.c.lastStamp}
	}
	return cf.c.lastStamp
}

// After returns what has changed since. It fails with
// ChangeStreamHistoryLost where some of it is not remembered.
func (cf *ChangeFeed) After(at bson.Timestamp) ([]Change, error) {
	if at.Before(cf.gone) {
		return nil, mongoerr.New(mongoerr.ChangeStreamHistoryLost,
			"Resume of change stream was not possible, as the resume point may no longer be in the oplog.")
	}
	from, _ := slices.BinarySearchFunc(cf.list, at, func(ch Change, at bson.Timestamp) int {
		if ch.At.After(at) {
			return 1
		}
		return -1
	})
	return cf.list[from:], nil
}

// Any reports whether anything has changed since.
func (cf *ChangeFeed) Any(at bson.Timestamp) bool {
	n := len(cf.list)
	return n > 0 && cf.list[n-1].At.After(at)
}

func (cf *ChangeFeed) note(ch Change) {
	if !cf.on || onConfigServer(databaseOf(ch.Namespace)) {
		return
	}
	ch.At, ch.Wall = cf.c.Tick(), cf.c.now()
	log := cf
	log.list = append(log.list, ch)
	log.bytes += len(ch.Before) + len(ch.After)
	for len(log.list) > maxChanges || log.bytes > maxChangeBytes && len(log.list) > 1 {
		oldest := log.list[0]
		log.gone, log.bytes, log.list = oldest.At, log.bytes-len(oldest.Before)-len(oldest.After), log.list[1:]
	}
	cf.c.cond.Broadcast()
}

// noteDocument notes what has become of one document; before or after is nil
// where there is none.
func (cf *ChangeFeed) noteDocument(kind ChangeKind, ns string, before, after bson.Raw) {
	if !cf.on {
		return
	}
	doc := after
	if doc == nil {
		doc = before
	}
	cf.note(Change{Kind: kind, Namespace: ns, Key: cf.documentKey(ns, doc), Before: before, After: after,
		Images: cf.keepsImages(ns)})
}

// keepsImages reports whether a collection was made, or modified, with
// changeStreamPreAndPostImages.
func (cf *ChangeFeed) keepsImages(ns string) bool {
	for _, t := range cf.c.targets(ns, nil) {
		if t.shard == nil || t.shard.colls[ns] == nil {
			continue
		}
		for _, o := range t.shard.colls[ns].options {
			if o.Key == "changeStreamPreAndPostImages" {
				raw, isRaw := o.Value.(bson.Raw)
				return isRaw && raw.Lookup("enabled").Type == bson.TypeBoolean && raw.Lookup("enabled").Boolean()
			}
		}
	}
	return false
}

// documentKey returns a document's shard key, where it has one, and its _id.
func (cf *ChangeFeed) documentKey(ns string, doc bson.Raw) bson.D {
	key := bson.D{}
	if coll, sharded, err := cf.c.config.shardedEntry(ns); err == nil && sharded {
		for _, name := range coll.Pattern.Fields() {
			if v, err := doc.LookupErr(strings.Split(name, ".")...); err == nil && name != "_id" {
				key = append(key, bson.E{Key: name, Value: v})
			}
		}
	}
	return append(key, bson.E{Key: "_id", Value: doc.Lookup("_id")})
}
