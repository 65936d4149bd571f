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

// These constants limit the sample, in addition to Options.
const (
	maxWholeDocs  = 100 // complete documents, to find their fields
	minSampleDocs = 50  // minimum number of documents, however large they are
	maxEndDocs    = 2000
)

// readSample reads documents: a few complete ones, and then the possible key fields of many.
func (r *reading) readSample(ctx context.Context) error {
	if r.facts.Docs == 0 {
		return nil
	}
	whole, err := r.readRandomDocs(ctx, int(min(maxWholeDocs, r.maxDocs())), nil)
	if err != nil {
		return err
	}
	projection := keyadvice.Projection(r.candidateFields(whole))
	n := r.maxDocs()
	s := &r.facts.Sample
	if r.facts.Docs <= n {
		s.Docs, err = r.readNaturalOrderDocs(ctx, 1, n, projection)
	} else {
		s.Docs, err = r.readRandomDocs(ctx, int(n), projection)
	}
	if err != nil {
		return err
	}
	if s.Arrival = sortByObjectID(s.Docs); s.Arrival != nil {
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
	return r.readEnds(ctx, projection)
}

// maxDocs returns the maximum number of documents in the sample.
func (r *reading) maxDocs() int64 {
	average := max(1, r.facts.Bytes/max(1, r.facts.Docs))
	return min(int64(r.SampleDocs), max(minSampleDocs, r.SampleBytes/average))
}

// candidateFields returns the fields that could be in a key, and the fields used by queries, zones and
// indexes.
func (r *reading) candidateFields(docs []bson.Raw) []string {
	names := append(keyadvice.SuitableFields(docs), r.facts.ZoneFields...)
	for _, x := range r.facts.Indexes {
		names = append(names, x.ShardKeyFields()...)
	}
	for _, k := range append(slices.Clone(r.Keys), r.facts.Current) {
		names = append(names, k.Names()...)
	}
	for _, q := range r.facts.Queries {
		names = append(append(names, q.Equal...), q.Range...)
	}
	return names
}

// readRandomDocs reads random documents, without duplicates.
func (r *reading) readRandomDocs(ctx context.Context, n int, projection bson.D) ([]bson.Raw, error) {
	stages := []bson.D{{{Key: "$sample", Value: bson.D{{Key: "size", Value: n}}}}}
	if projection != nil {
		stages = append(stages, bson.D{{Key: "$project", Value: projection}})
	}
	docs, err := r.readBounded(ctx, append(r.aggregateCommand(stages...), bson.E{Key: "allowDiskUse", Value: true}))
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

// readNaturalOrderDocs reads documents in natural order, forwards or backwards.
func (r *reading) readNaturalOrderDocs(ctx context.Context, direction int, n int64, projection bson.D) ([]bson.Raw,
	error) {
	return r.readBounded(ctx, bson.D{{Key: "find", Value: r.name}, {Key: "hint", Value: bson.D{{Key: "$natural",
		Value: direction}}},
		{Key: "limit", Value: n}, {Key: "projection", Value: projection}, r.maxTimeMS()})
}

// readBounded returns the documents of a command, up to the byte limit.
func (r *reading) readBounded(ctx context.Context, command bson.D) (docs []bson.Raw, err error) {
	ctx, command, cancel := live.WithSingleTimeout(ctx, command)
	defer cancel()
	cursor, err := r.client.Database(r.database).RunCommandCursor(ctx, command)
	if err != nil {
		return nil, err
	}
	defer func() { _ = live.CloseCursor(ctx, cursor) }() // an error of closing does not matter
	for size := int64(0); size < r.SampleBytes && cursor.Next(ctx); {
		docs = append(docs, bytes.Clone(cursor.Current))
		size += int64(len(cursor.Current))
	}
	return docs, cursor.Err()
}

// readEnds reads the first and last documents, to detect fields that increase with time.
func (r *reading) readEnds(ctx context.Context, projection bson.D) error {
	n := min(maxEndDocs, r.maxDocs()) / 2
	first, err := r.readNaturalOrderDocs(ctx, 1, n, projection)
	if err != nil {
		return err
	}
	last, err := r.readNaturalOrderDocs(ctx, -1, n, projection)
	if err != nil {
		return err
	}
	slices.Reverse(last)
	r.facts.Sample.Arrival = append(first, last...)
	return nil
}

// sortByObjectID sorts documents by the time in their _id; nil if an _id has no time.
func sortByObjectID(docs []bson.Raw) []bson.Raw {
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
