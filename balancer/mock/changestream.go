package mock

import (
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mongoerr"
)

// ChangeKind is the operationType of a change event.
type ChangeKind string

// The kinds of changes that are recorded.
const (
	ChangeInsert       ChangeKind = "insert"
	ChangeUpdate       ChangeKind = "update"
	ChangeReplace      ChangeKind = "replace"
	ChangeDelete       ChangeKind = "delete"
	ChangeDrop         ChangeKind = "drop"
	ChangeRename       ChangeKind = "rename"
	ChangeDropDatabase ChangeKind = "dropDatabase"

	// Only streams with showExpandedEvents return these changes.
	ChangeCreate          ChangeKind = "create"
	ChangeCreateIndexes   ChangeKind = "createIndexes"
	ChangeDropIndexes     ChangeKind = "dropIndexes"
	ChangeModify          ChangeKind = "modify"
	ChangeShardCollection ChangeKind = "shardCollection"
	ChangeRefineKey       ChangeKind = "refineCollectionShardKey"
	ChangeReshard         ChangeKind = "reshardCollection"
)

// Change is an entry of the change feed, which change streams read in place of an oplog.
type Change struct {
	Kind          ChangeKind
	At            bson.Timestamp // unique
	Wall          time.Time
	Namespace, To string // To is the new name of a rename
	Key           bson.D // documentKey
	Before, After bson.Raw
	Update        update.Description // of an update
	// KeepsImages reports whether the collection stores pre- and post-images.
	KeepsImages bool

	// Additional fields of expanded events.
	UUID        *bson.Binary // of the collection
	Operation   bson.D       // operationDescription
	NSType      string       // of a created object or a dropped view: "collection" or "view"
	StateBefore bson.D       // stateBeforeChange
}

// IsExpanded reports whether only streams with showExpandedEvents return the change.
func (ch Change) IsExpanded() bool {
	switch ch.Kind {
	case ChangeCreate, ChangeCreateIndexes, ChangeDropIndexes, ChangeModify, ChangeShardCollection, ChangeRefineKey,
		ChangeReshard:
		return true
	}
	return ch.Kind == ChangeDrop && ch.NSType == "view"
}

// Limits of the history from which streams can resume: number of changes, and bytes.
const (
	maxChanges     = 10_000
	maxChangeBytes = 64 << 20
)

// ChangeFeed records the changes for change streams. It starts with the first stream.
type ChangeFeed struct {
	clock   *clock.Clock
	config  *ConfigDB
	ids     *ids.Source
	locator *locator

	recording bool
	list      []Change
	bytes     int
	// forgottenUntil is the time of the newest discarded change.
	forgottenUntil bson.Timestamp
}

// Changes returns the feed of the cluster's change streams.
func (c *Cluster) Changes() *ChangeFeed { return c.changes }

// reset discards all changes and stops recording until a stream starts.
func (cf *ChangeFeed) reset() {
	cf.recording, cf.list, cf.bytes, cf.forgottenUntil = false, nil, 0, bson.Timestamp{}
}

// Start starts recording changes unless it has started, and returns the current cluster time.
func (cf *ChangeFeed) Start() bson.Timestamp {
	if !cf.recording {
		cf.reset()
		cf.recording, cf.forgottenUntil = true, cf.ids.LastStamp
	}
	return cf.ids.LastStamp
}

// After returns the changes after a time. It fails with
// ChangeStreamHistoryLost if some of them were discarded.
func (cf *ChangeFeed) After(at bson.Timestamp) ([]Change, error) {
	if at.Before(cf.forgottenUntil) {
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

// HasAfter reports whether there are changes after a time.
func (cf *ChangeFeed) HasAfter(at bson.Timestamp) bool {
	n := len(cf.list)
	return n > 0 && cf.list[n-1].At.After(at)
}

func (cf *ChangeFeed) note(ch Change) {
	if !cf.recording || onConfigServer(catalog.DatabaseOf(ch.Namespace)) {
		return
	}
	ch.At, ch.Wall = cf.ids.Tick(), cf.clock.Now()
	if ch.UUID == nil {
		if l := cf.anyLocal(ch.Namespace); l != nil {
			ch.UUID = &l.uuid
		}
	}
	cf.list = append(cf.list, ch)
	cf.bytes += len(ch.Before) + len(ch.After)
	for len(cf.list) > maxChanges || cf.bytes > maxChangeBytes && len(cf.list) > 1 {
		oldest := cf.list[0]
		cf.forgottenUntil, cf.bytes, cf.list = oldest.At, cf.bytes-len(oldest.Before)-len(oldest.After), cf.list[1:]
	}
	cf.clock.Wake()
}

// noteDocument records the insert or delete of a document.
func (cf *ChangeFeed) noteDocument(kind ChangeKind, ns string, before, after bson.Raw) {
	if !cf.recording {
		return
	}
	doc := after
	if doc == nil {
		doc = before
	}
	cf.note(cf.newDocumentChange(kind, ns, doc, before, after))
}

// newDocumentChange returns a change event for the document with doc's key.
func (cf *ChangeFeed) newDocumentChange(kind ChangeKind, ns string, doc, before, after bson.Raw) Change {
	ch := Change{Kind: kind, Namespace: ns, Key: cf.documentKey(ns, doc), Before: before, After: after}
	if l := cf.anyLocal(ns); l != nil {
		ch.UUID, ch.KeepsImages = &l.uuid, l.keepsImages()
	}
	return ch
}

// noteUpdate records the update of a document.
func (cf *ChangeFeed) noteUpdate(u *update.Update, ns string, before, after bson.Raw) {
	if !cf.recording {
		return
	}
	ch := cf.newDocumentChange(ChangeReplace, ns, after, before, after)
	if !u.IsReplacement() {
		if told, ok := u.Describe(before, after); ok {
			ch.Kind, ch.Update = ChangeUpdate, told
		}
	}
	cf.note(ch)
}

// noteCreated records the creation of an unsharded collection.
func (cf *ChangeFeed) noteCreated(ns string, options bson.D) {
	key, err := bson.Marshal(bson.D{{Key: "_id", Value: int32(1)}})
	if err != nil {
		return
	}
	byID := store.IndexSpec{Name: "_id_", Key: key}
	operation := append(slices.Clone(options), bson.E{Key: "idIndex", Value: byID.Doc()})
	cf.note(Change{Kind: ChangeCreate, Namespace: ns, Operation: operation, NSType: "collection"})
}

// noteIndexes records the creation or the drop of indexes.
func (cf *ChangeFeed) noteIndexes(kind ChangeKind, ns string, specs []store.IndexSpec) {
	list := bson.A{}
	for _, s := range specs {
		list = append(list, s.Doc())
	}
	if len(list) > 0 {
		cf.note(Change{Kind: kind, Namespace: ns, Operation: bson.D{{Key: "indexes", Value: list}}})
	}
}

// anyLocal returns a collection's data on any shard that has the collection, nil if there is none.
func (cf *ChangeFeed) anyLocal(ns string) *localCollection {
	for _, t := range cf.locator.targets(ns, nil) {
		if t.shard != nil && t.shard.colls[ns] != nil {
			return t.shard.colls[ns]
		}
	}
	return nil
}

// keepsImages reports whether changeStreamPreAndPostImages is enabled for the collection.
func (l *localCollection) keepsImages() bool {
	for _, o := range l.options {
		if o.Key == "changeStreamPreAndPostImages" {
			raw, isRaw := o.Value.(bson.Raw)
			return isRaw && raw.Lookup("enabled").Type == bson.TypeBoolean && raw.Lookup("enabled").Boolean()
		}
	}
	return false
}

// documentKey returns a document's shard key, if its collection is sharded, and its _id.
func (cf *ChangeFeed) documentKey(ns string, doc bson.Raw) bson.D {
	key := bson.D{}
	if coll, sharded, err := cf.config.ShardedEntry(ns); err == nil && sharded {
		for _, name := range coll.Pattern.Fields() {
			if v, err := doc.LookupErr(strings.Split(name, ".")...); err == nil && name != "_id" {
				key = append(key, bson.E{Key: name, Value: v})
			}
		}
	}
	return append(key, bson.E{Key: "_id", Value: doc.Lookup("_id")})
}
