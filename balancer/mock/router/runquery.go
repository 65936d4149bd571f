package router

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store"
)

// part is what one shard did for a query.
type part struct {
	read mock.Read
	ran  store.Ran
	docs []bson.Raw
	// marks are where the documents were found, if the query asks for that.
	marks []store.Found
}

// runQuery executes a query to its end.
func runQuery(c *call, q query) ([]bson.Raw, error) {
	parts, err := parts(c, q)
	if err != nil {
		return nil, err
	}
	results := q.merge(parts)
	mark := q.marker(parts)
	for i, doc := range results {
		out, err := q.projection.Apply(doc)
		if err != nil {
			return nil, err
		}
		results[i] = mark(doc, out)
	}
	return results, nil
}

// marks reports whether results say where they were found.
func (q query) marks() bool { return q.returnKey || q.showRecord }

// marker returns what becomes of a result for returnKey, which leaves nothing
// but the key of the index, and showRecordId, which adds the record.
func (q query) marker(parts []part) func(doc, out bson.Raw) bson.Raw {
	if !q.marks() {
		return func(_, out bson.Raw) bson.Raw { return out }
	}
	type mark struct {
		store.Found
		plan *store.Plan
	}
	found := map[*byte]mark{}
	for _, p := range parts {
		for _, f := range p.marks {
			found[&f.Doc[0]] = mark{f, p.read.Plan}
		}
	}
	return func(doc, out bson.Raw) bson.Raw {
		at := found[&doc[0]]
		if q.returnKey { // and nothing else, whatever is shown
			return at.plan.KeyOf(at.Found)
		}
		return store.WithRecordID(out, at.ID)
	}
}

// parts asks every shard that a query goes to. A shard gives at most as many
// documents as the whole result may have.
func parts(c *call, q query) ([]part, error) {
	if isView(c, q.ns) {
		p, err := viewPart(c, q)
		return []part{p}, err
	}
	parts, err := planned(c, q)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		if err := parts[i].gather(q); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// planned returns the parts of a query on a collection, with nothing read yet.
func planned(c *call, q query) ([]part, error) {
	reads, err := reached(c, q)
	if err != nil {
		return nil, err
	}
	parts := make([]part, len(reads))
	for i, read := range reads {
		parts[i].read = read
	}
	return parts, nil
}

// reached returns the reads of a query; of one that is content with partial
// results, those of the shards that can be reached.
func reached(c *call, q query) ([]mock.Read, error) {
	if q.partial == nil || c.node.member != nil {
		return reads(c, q.ns, q.request())
	}
	reads, partial, err := c.request.PartialReads(q.ns, q.request())
	*q.partial = partial
	return reads, err
}

func (p *part) gather(q query) error {
	wanted := int64(-1)
	if q.limit > 0 {
		wanted = q.skip + q.limit
	}
	for found, err := range p.read.Documents(&p.ran.Counts) {
		if err != nil {
			return err
		}
		doc := found.Doc
		if q.marks() {
			p.marks = append(p.marks, found)
		}
		p.docs = append(p.docs, doc)
		p.ran.Bytes += int64(len(doc))
		if p.read.Plan.Sorted() && int64(len(p.docs)) == wanted {
			break
		}
	}
	if !p.read.Plan.Sorted() {
		q.sort.Documents(p.docs)
	}
	if wanted >= 0 {
		p.docs = p.docs[:min(wanted, int64(len(p.docs)))]
	}
	p.ran.Returned = int64(len(p.docs))
	return nil
}

// merge puts the shards' documents in order and cuts the result out.
func (q query) merge(parts []part) []bson.Raw {
	var results []bson.Raw
	for _, p := range parts {
		results = append(results, p.docs...)
	}
	if len(parts) > 1 {
		q.sort.Documents(results)
	}
	results = results[min(q.skip, int64(len(results))):]
	if q.limit > 0 {
		results = results[:min(q.limit, int64(len(results)))]
	}
	return slices.Clip(results)
}

// countMatching counts without keeping the documents.
func countMatching(c *call, q query) (int64, error) {
	if isView(c, q.ns) {
		docs, err := runQuery(c, q)
		return int64(len(docs)), err
	}
	reads, err := reads(c, q.ns, q.request())
	if err != nil {
		return 0, err
	}
	n := int64(0)
	for _, read := range reads {
		for _, err := range read.Documents(&store.Counts{}) {
			if err != nil {
				return 0, err
			}
			if n++; q.limit > 0 && n == q.skip+q.limit {
				return q.limit, nil
			}
		}
	}
	return max(0, n-q.skip), nil
}
