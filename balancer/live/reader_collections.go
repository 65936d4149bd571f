package live

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
)

// tracked is a collection while its chunks are read.
type tracked struct {
	catalog.Collection
	table *catalog.RoutingTable
	// older: the table is that of an older Snapshot, and its flags may be old.
	older bool
	// settled: the last look found the table as it is. refused: it was the last
	// one, as the server does not want to be asked.
	settled, refused bool
	// trouble is why the last look gave no table.
	trouble error
}

// collections reads config.collections and the chunks of each, and looks at all
// of them once more. Whatever has changed since it was read is read again, until
// nothing has or there were enough tries: each table is what its collection was
// at one moment after the last one was first read.
func (r *reading) collections(ctx context.Context) error {
	known := r.olderTables()
	filter := bson.D{{Key: "dropped", Value: bson.D{{Key: "$ne", Value: true}}}}
	if r.options.Namespaces != nil {
		filter = append(filter, bson.E{Key: "_id", Value: bson.D{{Key: "$in", Value: r.options.Namespaces}}})
	}
	for try := 0; ; try++ {
		docs, err := r.documents(ctx, "collections", filter, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
		if err := r.part(ctx, catalog.Gap{What: "collections"}, err); err != nil {
			return err
		}
		known = r.entries(docs, known, try == 0)
		var unsettled []*tracked
		for _, t := range known {
			if !t.refused && (try < 2 || !t.settled) {
				unsettled = append(unsettled, t)
			}
		}
		if len(unsettled) > 0 && try <= r.options.Tries {
			if err := inParallel(ctx, r.options.Parallel, unsettled, r.look); err != nil {
				return err
			}
			continue
		}
		if len(docs) > 0 {
			r.parts.Config["collections"] = docs
		}
		r.keep(known, try)
		return nil
	}
}

// olderTables returns the tables that the older Snapshot has.
func (r *reading) olderTables() map[string]*tracked {
	known := map[string]*tracked{}
	if r.old == nil {
		return known
	}
	for _, c := range r.old.Collections() {
		if c.Table != nil {
			known[c.Namespace] = &tracked{Collection: c.Collection, table: c.Table, older: true}
		}
	}
	return known
}

// entries returns the collections that the documents tell of, with the tables
// of those that are still the same. What can't be read is a gap.
func (r *reading) entries(docs []bson.Raw, known map[string]*tracked, first bool) map[string]*tracked {
	next := map[string]*tracked{}
	for _, doc := range docs {
		entry, err := catalog.ParseCollection(doc)
		if err != nil {
			if first {
				r.gap(catalog.Gap{What: "collections", Namespace: text(doc, "_id")}, err)
			}
			continue
		}
		t := known[entry.Namespace]
		if t == nil || !sameIncarnation(t.Collection, entry) {
			t = &tracked{}
		}
		t.Collection = entry
		next[entry.Namespace] = t
	}
	return next
}

func sameIncarnation(a, b catalog.Collection) bool {
	return a.Epoch == b.Epoch && a.Timestamp == b.Timestamp && a.UUID.Equal(b.UUID) && a.Pattern.Equal(b.Pattern)
}

// keep takes over what was read.
func (r *reading) keep(known map[string]*tracked, tries int) {
	for _, t := range known {
		gap := catalog.Gap{What: "chunks", Namespace: t.Namespace}
		switch {
		case t.trouble != nil:
			r.gap(gap, t.trouble)
		case !t.settled:
			r.gap(gap, fmt.Errorf("they have changed while they were read, %d times: newer changes are missing", tries))
		}
		r.parts.Collections = append(r.parts.Collections, &catalog.CollectionState{Collection: t.Collection, Table: t.table})
	}
}

// look brings the table of a collection up to date, and notes whether it was.
func (r *reading) look(ctx context.Context, t *tracked) error {
	if t.table != nil {
		same, err := r.update(ctx, t, t.table.Version().ChunkVersion)
		if err == nil && t.older && !r.options.SkipFlags {
			err = r.flags(ctx, t)
		}
		if err == nil {
			t.settled, t.older = same, false
			return nil
		}
		if err := r.fatal(ctx, t, err); err != nil || t.refused {
			return err
		}
	}
	t.older, t.settled = false, false
	return r.fatal(ctx, t, r.readAll(ctx, t))
}

// fatal sorts the failures of reading chunks: what the server refuses is
// settled, what makes no sense has changed under our eyes and is read anew, and
// the rest ends the reading.
func (r *reading) fatal(ctx context.Context, t *tracked, err error) error {
	t.trouble = err
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && refused(err):
		t.table, t.settled, t.refused = nil, true, true
		return nil
	case ctx.Err() == nil && senseless(err):
		t.table = nil
		return nil
	}
	return &ReadError{What: "chunks", Namespace: t.Namespace, Err: err}
}
