package live

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// These are the limits of the part ExplanationData.
const (
	maxProbedJumboChunks = 10 // jumbo chunks, of each collection
	maxProbedZoneRanges  = 50 // ranges, of each collection
	maxProbes            = 100
	maxProbedDocs        = 1_000_000
	maxProbedDatabases   = 200
	maxProbedCollections = 100
)

// causeReader reads the details for explanations of problems.
type causeReader struct{ *reading }

// readAll reads the data that only explanations need: the indexes for shard keys, the contents of jumbo
// chunks and of zone ranges, and the amount of unsharded data.
func (r causeReader) readAll(ctx context.Context) error {
	suspects := r.suspects()
	r.probeLimits = newProbeLimits(len(suspects))
	err := inParallel(ctx, r.options.Parallel, suspects,
		func(ctx context.Context, c *catalog.CollectionState) error {
			for _, probe := range []struct {
				what string
				read func(context.Context, *catalog.CollectionState) error
			}{{"indexes", r.checkIndexes}, {"jumbo chunks", r.probeJumboChunks}, {"ranges of zones", r.probeZoneContents}} {
				err := probe.read(ctx, c)
				if err := r.gapOrError(ctx, ExplanationData, catalog.Gap{What: probe.what, Namespace: c.Namespace},
					err); err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		return err
	}
	return r.gapOrError(ctx, ExplanationData, catalog.Gap{What: "unsharded data"}, r.readUnsharded(ctx))
}

// probeLimits contains the maximum numbers of jumbo chunks and zone ranges per collection whose
// contents are read. The more collections there are, the smaller the limits.
type probeLimits struct{ chunks, zones int }

func newProbeLimits(collections int) probeLimits {
	each := max(1, maxProbes/max(1, collections))
	return probeLimits{chunks: min(maxProbedJumboChunks, each), zones: min(maxProbedZoneRanges, each)}
}

// suspects returns the collections to examine. If there are too many, collections with a known problem
// come first, and then those with the largest imbalance.
func (r causeReader) suspects() []*catalog.CollectionState {
	list := r.selectedCollections()
	sharded := len(list)
	list = slices.DeleteFunc(list, func(c *catalog.CollectionState) bool { return c.Table == nil })
	if asked := min(len(list), maxProbedCollections); r.selectsTables() && asked < sharded || asked < len(list) {
		r.addGap(catalog.Gap{}, fmt.Errorf("missing indexes, jumbo chunks and empty zones were looked for in %d of %d "+
			"collections, the most uneven; sh.why(\"db.collection\") looks at one", asked, sharded))
	}
	if len(list) <= maxProbedCollections {
		return list
	}
	marked := func(c *catalog.CollectionState) bool {
		return c.NoBalance || c.Count().Jumbo > 0 || c.ReportedStatus != nil && !c.ReportedStatus.Compliant
	}
	suspicion := make(map[*catalog.CollectionState]int64, len(list))
	for _, c := range list {
		suspicion[c] = r.unevenness(c)
		if marked(c) {
			suspicion[c] = math.MaxInt64
		}
	}
	slices.SortStableFunc(list, func(a, b *catalog.CollectionState) int { return cmp.Compare(suspicion[b], suspicion[a]) })
	return list[:maxProbedCollections]
}

// unevenness returns the difference between the largest and the smallest amount on a shard, in bytes
// or, if those are not known, in chunks. Shards without chunks count if they can get some: all that are
// not draining, but only those with chunks if zones limit them.
func (r causeReader) unevenness(c *catalog.CollectionState) int64 {
	ids := slices.Clone(c.Owners())
	for _, s := range r.parts.Shards {
		if c.Zones.Len() == 0 && !s.Draining && !slices.Contains(ids, s.ID) {
			ids = append(ids, s.ID)
		}
	}
	least, most := int64(math.MaxInt64), int64(0)
	for _, id := range ids {
		n := c.CountOn(id).Chunks
		if c.Sizes != nil {
			n = c.Sizes[id].Bytes
		}
		least, most = min(least, n), max(most, n)
	}
	return most - min(least, most)
}

// checkIndexes finds shards that have chunks of a collection but no index that begins with the shard
// key. No chunk can be moved off such a shard.
func (r causeReader) checkIndexes(ctx context.Context, c *catalog.CollectionState) error {
	db, name, err := catalog.SplitNamespace(c.Namespace)
	if err != nil {
		return err
	}
	docs, err := r.listFromShards(ctx, firstShardTimeout, query{database: db, collection: name, pipeline: indexStages()})
	var usable, asked []catalog.ShardID
	for _, doc := range docs {
		id := catalog.ShardID(text(doc, "shard"))
		asked = append(asked, id)
		if servesKey(r.parts.Release, doc, c.Pattern) {
			usable = append(usable, id)
		}
	}
	if err != nil {
		return err
	}
	c.IndexesKnown = true
	for _, id := range c.Owners() {
		// Every collection has an index on _id, so a shard without any index did not answer.
		if slices.Contains(asked, id) && !slices.Contains(usable, id) {
			c.Unindexed = append(c.Unindexed, id)
		}
	}
	return nil
}

// indexStages returns the stages that return the indexes of a collection on each shard that has chunks
// of it.
func indexStages() []bson.D {
	return []bson.D{
		{{Key: "$indexStats", Value: bson.D{}}},
		{{Key: "$project", Value: bson.D{{Key: "shard", Value: 1}, {Key: "key", Value: 1}, {Key: "name", Value: 1},
			{Key: "spec.partialFilterExpression", Value: 1}, {Key: "spec.sparse", Value: 1},
			{Key: "spec.collation", Value: 1}}}},
	}
}

// servesKey reports whether an index permits moving chunks. A collation other than the simple one does
// not; from 9.0 on, servers report the simple one, too.
func servesKey(r catalog.Release, index bson.Raw, p catalog.KeyPattern) bool {
	partial, _ := index.Lookup("spec", "partialFilterExpression").DocumentOK()
	wildcard := !document(index, "key").Lookup("$**").IsZero()
	locale := text(index, "spec", "collation", "locale")
	simple := locale == "" || locale == "simple"
	return partial == nil && simple && (!wildcard || r.WildcardServesKey()) &&
		!catalog.IsTruthyInJS(index.Lookup("spec", "sparse")) && beginsWith(document(index, "key"), p.Doc())
}

// beginsWith reports whether the first fields of an index are those of a key.
func beginsWith(index, key bson.Raw) bool {
	want, err := key.Elements()
	have, failed := index.Elements()
	if err != nil || failed != nil || len(have) < len(want) {
		return false
	}
	for i := range want {
		if want[i].Key() != have[i].Key() || indexKind(want[i].Value()) != indexKind(have[i].Value()) {
			return false
		}
	}
	return true
}

// indexKind returns the kind of a field of an index, such as "hashed"; empty for an ordered field.
func indexKind(v bson.RawValue) string {
	kind, _ := v.StringValueOK()
	return kind
}

// readUnsharded computes the amount of unsharded data on each shard: all data of a database, minus
// those of its sharded collections.
func (r causeReader) readUnsharded(ctx context.Context) error {
	if slices.ContainsFunc(r.gaps, func(g catalog.Gap) bool { return g.What == "sizes" }) {
		return nil
	}
	if n := len(r.parts.Databases); n > maxProbedDatabases {
		r.addGap(catalog.Gap{}, fmt.Errorf("unsharded data was not looked for: there are %d databases, more than %d", n,
			maxProbedDatabases))
		return nil
	}
	type place struct {
		database string
		shard    catalog.ShardID
	}
	sharded := map[place]int64{}
	for _, c := range r.parts.Collections {
		db, _, err := catalog.SplitNamespace(c.Namespace)
		if err != nil || c.Unsplittable {
			continue
		}
		for id, data := range c.Sizes {
			sharded[place{db, id}] += data.Bytes + data.OrphanBytes
		}
	}
	list := []catalog.UnshardedData{}
	for _, d := range r.parts.Databases {
		reply, err := r.askShards(ctx, d.Name, bson.D{{Key: "dbStats", Value: 1}})
		if err != nil {
			return err
		}
		for _, s := range r.parts.Shards {
			n := integer(shardReply(reply, s.Host), "dataSize") - sharded[place{d.Name, s.ID}]
			if n > 0 {
				list = append(list, catalog.UnshardedData{Database: d.Name, Shard: s.ID, Bytes: n})
			}
		}
	}
	r.parts.Unsharded = list
	return nil
}
