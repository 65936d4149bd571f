//go:build unix

package loadcheck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// own is how many documents a writer has in each collection.
	own = 40
	// keys are -keys to keys.
	keys = 100
	// stills is how many documents of a collection never change.
	stills = 100
)

// stillDocuments are there from the beginning and never change.
func stillDocuments() []any {
	var docs []any
	for i := range stills {
		docs = append(docs, bson.M{
			"_id": fmt.Sprintf("still-%d", i), "k": int64(i*2 - keys), "j": int64(i % 7), "v": int64(1), "still": true,
			"pad": make([]byte, 2000),
		})
	}
	return docs
}

// writer is a client that remembers what it has written: one write at a time,
// to documents that nobody else writes.
type writer struct {
	*load
	number  int
	chance  *rand.Rand
	records map[string][]*record // by namespace
	last    int64
}

func newWriter(l *load, number int) *writer {
	w := &writer{load: l, number: number, chance: l.chance(uint64(number)), records: map[string][]*record{}}
	for _, ns := range namespaceList() {
		for i := range own {
			w.records[ns] = append(w.records[ns], newRecord(fmt.Sprintf("w%d-%d", number, i)))
		}
	}
	return w
}

// target is a document to write to: where, and by which client.
type target struct {
	*mongo.Collection
	ns string
	*record
}

func (w *writer) key() int64 { return w.chance.Int64N(2*keys+1) - keys }

func (w *writer) next(key int64) version {
	w.last++
	return version{w.last, key}
}

func (w *writer) document(r *record, v version) bson.M {
	return bson.M{
		"_id": r.id, "k": v.key, "j": w.chance.Int64N(7), "v": v.value, "w": w.number,
		"pad": make([]byte, w.chance.IntN(20_000)),
	}
}

// step does one write, or looks what has become of the last one.
func (w *writer) step(ctx context.Context) {
	ns := namespaceList()[w.chance.IntN(len(namespaces()))]
	client := w.client
	if w.chance.IntN(3) == 0 {
		client = w.once
	}
	r := w.records[ns][w.chance.IntN(own)]
	to := target{collection(client, ns), ns, r}
	w.does(ctx, "%s of %s", ns, r.id)
	switch {
	case !r.sure() || w.chance.IntN(6) == 0:
		w.look(ctx, to)
	case r.now().there():
		changes := []func(context.Context, target){
			w.set, w.set, w.set, w.replace, w.rekey, w.rekey, w.modify, w.remove, w.removeFound, w.setMany,
		}
		changes[w.chance.IntN(len(changes))](ctx, to)
	default:
		makes := []func(context.Context, target){w.insert, w.upsert, w.insertMany, w.bulk}
		makes[w.chance.IntN(len(makes))](ctx, to)
	}
}

// look reads the document, which must be one of those it may be.
func (w *writer) look(ctx context.Context, to target) {
	found, err := find(ctx, to.Collection, bson.M{"_id": to.id})
	w.result("read own", err)
	if err == nil {
		w.complain(to, to.read(found))
	}
}

func (w *writer) complain(to target, err error) {
	if err != nil {
		w.fail("%s: %v", to.ns, err)
	}
}

func find(ctx context.Context, c *mongo.Collection, filter any) ([]version, error) {
	cursor, err := c.Find(ctx, filter, options.Find().SetProjection(bson.M{"v": 1, "k": 1}))
	if err != nil {
		return nil, err
	}
	var docs []struct{ V, K int64 }
	if err := cursor.All(ctx, &docs); err != nil {
		return nil, err
	}
	found := make([]version, len(docs))
	for i, doc := range docs {
		found[i] = version{doc.V, doc.K}
	}
	return found, nil
}

// wrote notes a write. One that was acknowledged and has changed another number
// of documents than there were is a fault.
func (w *writer) wrote(what string, to target, v version, matched int64, err error) {
	w.result(what, err)
	if err == nil && matched != 1 {
		w.fail("%s: %s of %s met %d documents: %v", to.ns, what, to.id, matched, to.record)
		err = errors.New("nobody knows")
	}
	to.record.wrote(what, v, err)
}

func (w *writer) insert(ctx context.Context, to target) {
	v := w.next(w.key())
	_, err := to.InsertOne(ctx, w.document(to.record, v))
	w.wrote("insert", to, v, 1, err)
}

func (w *writer) upsert(ctx context.Context, to target) {
	v := w.next(w.key())
	done, err := to.UpdateOne(ctx, bson.M{"_id": to.id, "k": v.key},
		bson.M{"$set": bson.M{"v": v.value, "j": int64(1), "w": w.number}}, options.UpdateOne().SetUpsert(true))
	n := int64(0)
	if err == nil {
		n = done.UpsertedCount
	}
	w.wrote("upsert", to, v, n, err)
}

// others are documents of the same collection that are sure to be there, or not.
func (w *writer) others(to target, there bool) []target {
	chosen := []target{to}
	for _, r := range w.records[to.ns] {
		if r != to.record && r.sure() && r.now().there() == there && w.chance.IntN(4) == 0 {
			chosen = append(chosen, target{to.Collection, to.ns, r})
		}
	}
	return chosen
}

func (w *writer) insertMany(ctx context.Context, to target) {
	chosen := w.others(to, false)
	docs, versions := make([]any, len(chosen)), make([]version, len(chosen))
	for i, c := range chosen {
		versions[i] = w.next(w.key())
		docs[i] = w.document(c.record, versions[i])
	}
	_, err := to.InsertMany(ctx, docs, options.InsertMany().SetOrdered(w.chance.IntN(2) == 0))
	for i, c := range chosen {
		w.wrote("insertMany", c, versions[i], 1, err)
	}
}

// bulk inserts the document and updates it in the same command.
func (w *writer) bulk(ctx context.Context, to target) {
	first := w.next(w.key())
	second := w.next(first.key)
	_, err := to.BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(w.document(to.record, first)),
		mongo.NewUpdateOneModel().SetFilter(bson.M{"_id": to.id}).SetUpdate(bson.M{"$set": bson.M{"v": second.value}}),
	})
	if err != nil {
		to.record.wrote("bulkWrite", first, err)
	}
	w.wrote("bulkWrite", to, second, 1, err)
}

// filter names the document with its shard key or without.
func (w *writer) filter(to target) bson.M {
	if w.chance.IntN(2) == 0 {
		return bson.M{"_id": to.id}
	}
	return bson.M{"_id": to.id, "k": to.now().key}
}

func (w *writer) update(ctx context.Context, what string, to target, v version, update any) {
	done, err := to.UpdateOne(ctx, w.filter(to), update)
	n := int64(0)
	if err == nil {
		n = done.MatchedCount
	}
	w.wrote(what, to, v, n, err)
}

func (w *writer) set(ctx context.Context, to target) {
	v := w.next(to.now().key)
	w.update(ctx, "update", to, v, bson.M{"$set": bson.M{"v": v.value}})
}

// rekey changes the value of the shard key: the document may go to another
// shard.
func (w *writer) rekey(ctx context.Context, to target) {
	v := w.next(w.key())
	w.update(ctx, "update of the key", to, v, bson.M{"$set": bson.M{"v": v.value, "k": v.key}})
}

func (w *writer) replace(ctx context.Context, to target) {
	v := w.next(to.now().key)
	if w.chance.IntN(2) == 0 {
		v.key = w.key()
	}
	done, err := to.ReplaceOne(ctx, w.filter(to), w.document(to.record, v))
	n := int64(0)
	if err == nil {
		n = done.MatchedCount
	}
	w.wrote("replace", to, v, n, err)
}

func (w *writer) modify(ctx context.Context, to target) {
	v := w.next(to.now().key)
	var was struct{ V int64 }
	err := to.FindOneAndUpdate(ctx, w.filter(to), bson.M{"$set": bson.M{"v": v.value}}).Decode(&was)
	n := int64(1)
	if errors.Is(err, mongo.ErrNoDocuments) {
		n, err = 0, nil
	} else if err == nil && was.V != to.now().value {
		w.fail("%s: findAndModify of %s met v %d: %v", to.ns, to.id, was.V, to.record)
	}
	w.wrote("findAndModify", to, v, n, err)
}

func (w *writer) remove(ctx context.Context, to target) {
	done, err := to.DeleteOne(ctx, w.filter(to))
	n := int64(0)
	if err == nil {
		n = done.DeletedCount
	}
	w.wrote("delete", to, version{}, n, err)
}

func (w *writer) removeFound(ctx context.Context, to target) {
	err := to.FindOneAndDelete(ctx, w.filter(to)).Err()
	n := int64(1)
	if errors.Is(err, mongo.ErrNoDocuments) {
		n, err = 0, nil
	}
	w.wrote("findAndModify remove", to, version{}, n, err)
}

// setMany updates several documents at once, on whatever shards.
func (w *writer) setMany(ctx context.Context, to target) {
	chosen := w.others(to, true)
	w.last++
	value := w.last
	ids := make([]string, len(chosen))
	for i, c := range chosen {
		ids[i] = c.id
	}
	done, err := to.UpdateMany(ctx, bson.M{"_id": bson.M{"$in": ids}}, bson.M{"$set": bson.M{"v": value}})
	if err == nil && done.MatchedCount != int64(len(chosen)) {
		w.fail("%s: updateMany of %s met %d documents", to.ns, strings.Join(ids, ", "), done.MatchedCount)
	}
	for _, c := range chosen {
		w.wrote("updateMany", c, version{value, c.now().key}, 1, err)
	}
}

// counter is a client whose writes must take effect once.
type counter struct {
	*load
	number      int
	sent, acked int64
}

func newCounter(l *load, number int) *counter { return &counter{load: l, number: number} }

func (c *counter) id() string { return fmt.Sprintf("counter-%d", c.number) }

func (c *counter) step(ctx context.Context) {
	c.does(ctx, "counting")
	c.sent++
	_, err := collection(c.client, "more.d").UpdateOne(ctx, bson.M{"_id": c.id()},
		bson.M{"$inc": bson.M{"n": int64(1)}}, options.UpdateOne().SetUpsert(true))
	if c.result("increment", err); err == nil {
		c.acked++
	}
}

// inspect compares what the counter shows with what was sent.
func (c *counter) inspect(ctx context.Context) {
	var doc struct{ N int64 }
	err := collection(c.client, "more.d").FindOne(ctx, bson.M{"_id": c.id()}).Decode(&doc)
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		c.fail("%s: %v", c.id(), err)
		return
	}
	if doc.N < c.acked || doc.N > c.sent {
		c.fail("%s is at %d: %d increments were sent, %d acknowledged", c.id(), doc.N, c.sent, c.acked)
	}
}
