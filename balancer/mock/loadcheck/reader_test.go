//go:build unix

package loadcheck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
)

// reader reads while others write: what never changes must be in every result,
// once, wherever it moves meanwhile.
type reader struct {
	*load
	chance *rand.Rand
}

func newReader(l *load, number int) *reader { return &reader{l, l.chance(uint64(100 + number))} }

// still matches the documents that never change.
func still() bson.M { return bson.M{"still": true} }

func (r *reader) step(ctx context.Context) {
	ns := namespaceList()[r.chance.IntN(len(namespaces()))]
	reads := []struct {
		name string
		read func(context.Context, *mongo.Collection) error
	}{
		{"scan", r.scan}, {"scan", r.scan}, {"count", r.count}, {"group", r.group}, {"distinct", r.distinct},
		{"sorted", r.sorted}, {"lookup", r.lookup},
	}
	chosen := reads[r.chance.IntN(len(reads))]
	r.does(ctx, "%s of %s", chosen.name, ns)
	r.result("read: "+chosen.name, chosen.read(ctx, r.collection(ns)))
}

// collection is the collection with some level of reading.
func (r *reader) collection(ns string) *mongo.Collection {
	level := readconcern.Majority()
	if r.chance.IntN(2) == 0 {
		level = readconcern.Local()
	}
	c := collection(r.client, ns)
	return c.Clone(options.Collection().SetReadConcern(level))
}

// seen gathers names, and tells which are there not just once.
type seen map[string]int

func (s seen) wrong() string {
	var text []string
	for i := range stills {
		id := fmt.Sprintf("still-%d", i)
		if s[id] != 1 {
			text = append(text, fmt.Sprintf("%s %d times", id, s[id]))
		}
	}
	return strings.Join(text, ", ")
}

func (r *reader) all(ctx context.Context, what string, c *mongo.Collection, cursor *mongo.Cursor, err error) error {
	if err != nil {
		return err
	}
	defer cursor.Close(ctx)
	found := seen{}
	for cursor.Next(ctx) {
		id, _ := cursor.Current.Lookup("_id").StringValueOK()
		found[id]++
	}
	if err := cursor.Err(); err != nil {
		return err
	}
	if text := found.wrong(); text != "" {
		r.fail("%s of %s.%s found %s", what, c.Database().Name(), c.Name(), text)
	}
	return nil
}

// scan reads in small batches, everything or what never changes.
func (r *reader) scan(ctx context.Context, c *mongo.Collection) error {
	filter := still()
	if r.chance.IntN(2) == 0 {
		filter = bson.M{}
	}
	cursor, err := c.Find(ctx, filter,
		options.Find().SetBatchSize(int32(1+r.chance.IntN(stills))).SetProjection(bson.M{"pad": 0}))
	return r.all(ctx, "a scan", c, cursor, err)
}

func (r *reader) sorted(ctx context.Context, c *mongo.Collection) error {
	cursor, err := c.Find(ctx, still(), options.Find().SetSort(bson.M{"j": 1}).SetBatchSize(int32(2+r.chance.IntN(40))))
	return r.all(ctx, "a sorted scan", c, cursor, err)
}

func (r *reader) count(ctx context.Context, c *mongo.Collection) error {
	n, err := c.CountDocuments(ctx, still())
	if err == nil && n != stills {
		r.fail("countDocuments of %s is %d, want %d", c.Name(), n, stills)
	}
	return err
}

func (r *reader) distinct(ctx context.Context, c *mongo.Collection) error {
	var values []string
	err := c.Distinct(ctx, "_id", still()).Decode(&values)
	if err == nil && len(values) != stills {
		r.fail("distinct of %s has %d values, want %d", c.Name(), len(values), stills)
	}
	return err
}

func (r *reader) group(ctx context.Context, c *mongo.Collection) error {
	cursor, err := c.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: still()}},
		{{Key: "$group", Value: bson.M{"_id": "$_id", "n": bson.M{"$sum": 1}}}},
	})
	return r.all(ctx, "a $group", c, cursor, err)
}

// lookup joins the documents that never change with themselves.
func (r *reader) lookup(ctx context.Context, c *mongo.Collection) error {
	cursor, err := c.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: still()}},
		{{Key: "$lookup", Value: bson.M{"from": c.Name(), "localField": "_id", "foreignField": "_id", "as": "same"}}},
		{{Key: "$unwind", Value: "$same"}},
	})
	return r.all(ctx, "a $lookup", c, cursor, err)
}
