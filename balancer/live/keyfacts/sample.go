package keyfacts

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyadvice"
	"shardsh/balancer/live"
)

// Bounds of the sample beside those of Options.
const (
	probed     = 100 // whole documents, to see which fields they have
	fewest     = 50  // documents of a sample, however large they are
	maxArrived = 2000
)

// sample reads documents: a few whole ones, then the fields of many that could be in a
// key.
func (r *reading) sample(ctx context.Context) error {
	if r.facts.Docs == 0 {
		return nil
	}
	whole, err := r.draw(ctx, int(min(probed, r.most())), nil)
	if err != nil {
		return err
	}
	projection := keyadvice.Projection(r.fields(whole))
	n := r.most()
	s := &r.facts.Sample
	if r.facts.Docs <= n {
		s.Docs, err = r.natural(ctx, 1, n, projection)
	} else {
		s.Docs, err = r.draw(ctx, int(n), projection)
	}
	if err != nil {
		return err
	}
	if s.Arrival = byObjectID(s.Docs); s.Arrival != nil {
		return nil
	}
	if len(r.facts.Current) > 0 {
		r.facts.Notes = append(r.facts.Notes, "documents have no ObjectId and are on several shards: "+
			"which fields grow with time is known only within each shard")
	}
	if r.facts.Docs <= n {
		s.Arrival = s.Docs
		return nil
	}
	return r.ends(ctx, projection)
}

// most is how many documents the sample has at most.
func (r *reading) most() int64 {
	average := max(1, r.facts.Bytes/max(1, r.facts.Docs))
	return min(int64(r.SampleDocs), max(fewest, r.SampleBytes/average))
}

// fields are those that a key could have, or queries, zones and indexes do have.
func (r *reading) fields(docs []bson.Raw) []string {
	names := append(keyadvice.FieldsOf(docs), r.facts.Zones...)
	for _, x := range r.facts.Indexes {
		names = append(names, x.Fields()...)
	}
	for _, k := range append(slices.Clone(r.Keys), r.facts.Current) {
		names = append(names, k.Names()...)
	}
	for _, q := range r.facts.Queries {
		names = append(append(names, q.Equal...), q.Range...)
	}
	return names
}

// draw reads documents by lot, none of them twice.
func (r *reading) draw(ctx context.Context, n int, projection bson.D) ([]bson.Raw, error) {
	stages := []bson.D{{{Key: "$sample", Value: bson.D{{Key: "size", Value: n}}}}}
	if projection != nil {
		stages = append(stages, bson.D{{Key: "$project", Value: projection}})
	}
	docs, err := r.read(ctx, append(r.aggregate(stages...), bson.E{Key: "allowDiskUse", Value: true}))
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	return slices.DeleteFunc(docs, func(doc bson.Raw) bool {
		id := doc.Lookup("_id")
		key := fmt.Sprintf("%d %s", id.Type, id.Value)
		twice := known[key]
		known[key] = true
		return twice
	}), nil
}

// natural reads documents in the order in which they lie, or from the last one on.
func (r *reading) natural(ctx context.Context, direction int, n int64, projection bson.D) ([]bson.Raw, error) {
	return r.read(ctx, bson.D{{Key: "find", Value: r.name}, {Key: "hint", Value: bson.D{{Key: "$natural",
		Value: direction}}},
		{Key: "limit", Value: n}, {Key: "projection", Value: projection}, r.limit()})
}

// read returns the documents of a command, until they are too many bytes.
func (r *reading) read(ctx context.Context, command bson.D) (docs []bson.Raw, err error) {
	ctx, command, cancel := live.TimedOnce(ctx, command)
	defer cancel()
	cursor, err := r.client.Database(r.database).RunCommandCursor(ctx, command)
	if err != nil {
		return nil, err
	}
	defer func() { _ = live.CloseCursor(ctx, cursor) }() // what it read counts
	for size := int64(0); size < r.SampleBytes && cursor.Next(ctx); {
		docs = append(docs, bytes.Clone(cursor.Current))
		size += int64(len(cursor.Current))
	}
	return docs, cursor.Err()
}

// ends reads the first documents and the last ones, which show what grows with time.
func (r *reading) ends(ctx context.Context, projection bson.D) error {
	n := min(maxArrived, r.most()) / 2
	first, err := r.natural(ctx, 1, n, projection)
	if err != nil {
		return err
	}
	last, err := r.natural(ctx, -1, n, projection)
	if err != nil {
		return err
	}
	slices.Reverse(last)
	r.facts.Sample.Arrival = append(first, last...)
	return nil
}

// byObjectID returns documents by the time in their _id; nil where an _id has none.
func byObjectID(docs []bson.Raw) []bson.Raw {
	for _, doc := range docs {
		if _, ok := doc.Lookup("_id").ObjectIDOK(); !ok {
			return nil
		}
	}
	return slices.SortedStableFunc(slices.Values(docs), func(a, b bson.Raw) int {
		x, y := a.Lookup("_id").ObjectID(), b.Lookup("_id").ObjectID()
		return cmp.Or(bytes.Compare(x[:4], y[:4]), bytes.Compare(x[9:], y[9:]))
	})
}
