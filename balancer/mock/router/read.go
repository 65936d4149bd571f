package router

import (
	"cmp"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

func readCommands() []command {
	return []command{
		{name: "find", stable: true, takesReadConcern: true, strict: true, declared: findFields(), run: (*Router).find},
		{name: "getMore", stable: true, run: (*Router).getMore},
		{name: "killCursors", stable: true, run: (*Router).killCursors},
		{name: "aggregate", stable: true, takesReadConcern: true, takesWriteConcern: true, run: (*Router).aggregate},
		{name: "count", stable: true, takesReadConcern: true, run: (*Router).count},
		{name: "distinct", takesReadConcern: true, run: (*Router).distinct},
	}
}

// findFields are what find takes; it reads most of them by hand, and refuses
// everything else.
func findFields() []field {
	var fields []field
	for _, name := range []string{
		"find", "filter", "projection", "sort", "hint", "collation", "skip", "limit", "batchSize", "singleBatch",
		"min", "max", "returnKey", "showRecordId", "let", "tailable", "awaitData", "oplogReplay", "noCursorTimeout",
		"allowPartialResults", "allowDiskUse", "readOnce", "includeQueryStatsMetrics",
	} {
		fields = append(fields, field{name, anyValue, false})
	}
	return fields
}

// checkHint refuses a hint that names no index of the collection.
func (r *Router) checkHint(ns string, hint bson.RawValue) error {
	specs, exists := r.cluster.Indexes(ns)
	if hint.IsZero() || hint.Type == bson.TypeNull || !exists {
		return nil
	}
	name, byName := hint.StringValueOK()
	key, byKey := hint.DocumentOK()
	if byKey && (len(key) <= 5 || !key.Lookup("$natural").IsZero()) {
		return nil
	}
	for _, s := range specs {
		if byName && s.Name == name || byKey && sameDocument(s.Key, key) {
			return nil
		}
	}
	return mongoerr.New(mongoerr.BadValue, "hint provided does not correspond to an existing index")
}

// query is what find, count and distinct share.
type query struct {
	ns          string
	filter      *store.Filter
	sort        *store.Sort // nil: as the documents come
	backwards   bool        // from the last document to the first
	projection  *store.Projection
	skip, limit int64
}

func (c *call) readQuery(filterField string) (query, error) {
	ns, err := c.namespace()
	if err != nil {
		return query{}, err
	}
	q := query{ns: ns}
	filter, err := c.document(filterField)
	if err != nil {
		return q, err
	}
	if q.filter, err = c.filter(filter); err != nil {
		return q, err
	}
	if collation, _ := c.document("collation"); len(collation) > 5 {
		if locale, _ := collation.Lookup("locale").StringValueOK(); locale != "simple" {
			return q, mongoerr.New(mongoerr.NotImplemented, "the mock compares by bytes only: collation %s is not supported", collation)
		}
	}
	for name, into := range map[string]*int64{"skip": &q.skip, "limit": &q.limit} {
		v := c.body.Lookup(name)
		if v.IsZero() || v.Type == bson.TypeNull {
			continue
		}
		n, isNumber := v.AsInt64OK()
		if !isNumber {
			return q, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s'", c.invoked, name, typeName(v.Type))
		}
		if n < 0 && !(name == "limit" && c.invoked == "count") {
			return q, mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be >= 0, actual value '%d'", name, n)
		}
		*into = max(n, -n)
	}
	return q, nil
}

// document reads an optional object; nil when it is absent.
func (c *call) document(name string) (bson.Raw, error) {
	v := c.body.Lookup(name)
	if v.IsZero() || v.Type == bson.TypeNull {
		return nil, nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected type 'object'", c.invoked, name, typeName(v.Type))
	}
	return doc, nil
}

func (r *Router) find(c *call) (bson.D, error) {
	q, err := c.readQuery("filter")
	if err != nil {
		return nil, err
	}
	if err := r.checkHint(q.ns, c.body.Lookup("hint")); err != nil {
		return nil, err
	}
	if err := c.supported(); err != nil {
		return nil, err
	}
	if err := c.order(&q); err != nil {
		return nil, err
	}
	if order, _ := c.document("sort"); q.sort != nil && r.cluster.InOrder(q.ns, q.filter, order) {
		q.sort = nil
	}
	projection, err := c.document("projection")
	if err != nil {
		return nil, err
	}
	if len(projection) > 5 {
		if q.projection, err = c.projection(projection, q.filter); err != nil {
			return nil, err
		}
	}
	size, err := c.batchSize(c.body.Lookup("batchSize"))
	if err != nil {
		return nil, err
	}
	results, err := r.run(q)
	if err != nil {
		return nil, err
	}
	cursor, err := r.open(c, q.ns, results, size, truth(c.body.Lookup("singleBatch")))
	if err != nil {
		return nil, err
	}
	return bson.D{{Key: "cursor", Value: bson.D{
		{Key: "firstBatch", Value: cursor.batch}, {Key: "id", Value: cursor.id}, {Key: "ns", Value: q.ns},
	}}}, nil
}

// supported refuses the fields of find that would change the result and that
// the mock has not.
func (c *call) supported() error {
	for _, name := range []string{"min", "max"} {
		if bound, err := c.document(name); err != nil || len(bound) > 5 {
			return cmp.Or(err, error(mongoerr.New(mongoerr.NotImplemented, "the mock does not support find with %s", name)))
		}
	}
	for _, name := range []string{"returnKey", "showRecordId", "tailable"} {
		if truth(c.body.Lookup(name)) {
			return mongoerr.New(mongoerr.NotImplemented, "the mock does not support find with %s", name)
		}
	}
	return nil
}

// order reads how find sorts. {$natural: 1 | -1}, as the sort or as the hint, is
// the order of the records or its reverse.
func (c *call) order(q *query) error {
	order, err := c.document("sort")
	if err != nil {
		return err
	}
	natural := order.Lookup("$natural")
	if hint, isDoc := c.body.Lookup("hint").DocumentOK(); isDoc && natural.IsZero() && len(order) <= 5 {
		natural = hint.Lookup("$natural")
	}
	if natural.IsZero() {
		q.sort, err = c.sort("sort")
		return err
	}
	if fields, _ := order.Elements(); len(fields) > 1 {
		return mongoerr.New(mongoerr.BadValue, "Cannot include '$natural' in compound sort")
	}
	direction, isNumber := natural.AsInt64OK()
	if !isNumber || direction != 1 && direction != -1 {
		return mongoerr.New(mongoerr.BadValue, "$natural sort cannot be set to a value other than -1 or 1.")
	}
	q.backwards = direction < 0
	return nil
}

func (c *call) sort(name string) (*store.Sort, error) {
	doc, err := c.document(name)
	if err != nil || len(doc) <= 5 {
		return nil, err
	}
	return store.CompileSort(doc)
}

// batchSize of a first batch: 101 by default.
func (c *call) batchSize(v bson.RawValue) (int, error) {
	if v.IsZero() || v.Type == bson.TypeNull {
		return firstBatchDefault, nil
	}
	n, isNumber := v.AsInt64OK()
	if !isNumber {
		return 0, mongoerr.New(mongoerr.TypeMismatch, "BSON field 'batchSize' is the wrong type '%s'", typeName(v.Type))
	}
	if n < 0 {
		return 0, mongoerr.New(mongoerr.BadValue, "BSON field 'batchSize' value must be >= 0, actual value '%d'", n)
	}
	return int(n), nil
}

// filter compiles a query with the command's variables and time.
func (c *call) filter(query bson.Raw) (*store.Filter, error) {
	let, err := c.document("let")
	if err != nil {
		return nil, err
	}
	return store.CompileFilterWith(query, store.FilterOptions{Let: let, Now: c.now})
}

func (c *call) projection(spec bson.Raw, filter *store.Filter) (*store.Projection, error) {
	let, err := c.document("let")
	if err != nil {
		return nil, err
	}
	return store.CompileProjectionWith(spec, store.ProjectionOptions{Filter: filter, Let: let, Now: c.now})
}

// matching gives a query's documents, unsorted. A filter that fails on one of
// them fails the command.
func (r *Router) matching(q query) (iter.Seq[bson.Raw], error) {
	if err := r.cluster.CheckFilter(q.ns, q.filter); err != nil {
		return nil, err
	}
	return r.cluster.Documents(q.ns, q.filter), nil
}

// run executes a query to its end.
func (r *Router) run(q query) ([]bson.Raw, error) {
	docs, err := r.matching(q)
	if err != nil {
		return nil, err
	}
	var results []bson.Raw
	wanted := q.skip + q.limit
	for doc := range docs {
		results = append(results, doc)
		if q.sort == nil && !q.backwards && q.limit > 0 && int64(len(results)) == wanted {
			break
		}
	}
	if q.sort != nil {
		slices.SortStableFunc(results, q.sort.Compare)
	}
	if q.backwards {
		slices.Reverse(results)
	}
	results = results[min(q.skip, int64(len(results))):]
	if q.limit > 0 {
		results = results[:min(q.limit, int64(len(results)))]
	}
	if q.projection == nil {
		return results, nil
	}
	for i, doc := range results {
		projected, err := q.projection.Apply(doc)
		if err != nil {
			return nil, err
		}
		results[i] = projected
	}
	return results, nil
}

// count without a query sums the shards' fast counts, orphans included, as
// the server does (spec 03 §2.5).
func (r *Router) count(c *call) (bson.D, error) {
	q, err := c.readQuery("query")
	if err != nil {
		return nil, err
	}
	query, _ := c.document("query") // readQuery has found it well-formed
	if n, ok := r.cluster.CountChunks(q.ns, query); ok && len(query) > 5 && q.skip == 0 && q.limit == 0 {
		return bson.D{{Key: "n", Value: smallest(n)}}, nil
	}
	if len(query) <= 5 && q.skip == 0 && q.limit == 0 {
		total := int64(0)
		byShard := bson.D{}
		for _, part := range r.cluster.Stats(q.ns) {
			byShard = append(byShard, bson.E{Key: string(part.Shard), Value: smallest(part.Docs)})
			total += part.Docs
		}
		if len(byShard) == 0 {
			return bson.D{{Key: "n", Value: int32(0)}}, nil
		}
		return bson.D{{Key: "shards", Value: byShard}, {Key: "n", Value: smallest(total)}}, nil
	}
	docs, err := r.matching(q)
	if err != nil {
		return nil, err
	}
	n := int64(0)
	for range docs {
		if n++; q.limit > 0 && n == q.skip+q.limit {
			break
		}
	}
	return bson.D{{Key: "n", Value: smallest(max(0, n-q.skip))}}, nil
}

// smallest is the server's "append as smallest number": Int32 where it fits.
func smallest(n int64) any {
	if n == int64(int32(n)) {
		return int32(n)
	}
	return n
}

func (r *Router) distinct(c *call) (bson.D, error) {
	q, err := c.readQuery("query")
	if err != nil {
		return nil, err
	}
	key, err := c.text("key")
	if err != nil {
		return nil, err
	}
	docs, err := r.matching(q)
	if err != nil {
		return nil, err
	}
	values := bson.A{}
	for _, v := range store.Distinct(key, docs) {
		values = append(values, v)
	}
	return bson.D{{Key: "values", Value: values}}, nil
}
