package router

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/projection"
	"shardsh/balancer/mongoerr"
)

func readHandlers() map[string]handler {
	return map[string]handler{
		"find":        find,
		"getMore":     getMore,
		"killCursors": killCursors,
		"count":       count,
		"distinct":    distinct,
	}
}

// query is what find, count and distinct share.
type query struct {
	ns          string
	filter      *filter.Filter
	sort        *order.Sort // nil: as the documents come
	order       bson.Raw    // the pattern of sort, or {$natural: ±1}
	hint        bson.RawValue
	min, max    bson.Raw
	projection  *projection.Projection
	projected   bson.Raw // the projection as it was given
	skip, limit int64
	returnKey   bool
	showRecord  bool
	// partial is set where shards were left out; nil refuses that.
	partial *bool
	// held counts what has to be kept to be sorted.
	held *weight
	// noDisk: a sort that keeps more than a server would is refused.
	noDisk bool
}

// plain queries may go the shortest way to a document by its _id.
func (q query) plain() bool {
	return q.skip == 0 && q.hint.IsZero() && !q.returnKey && !q.showRecord
}

func (q query) request() store.Query {
	return store.Query{Filter: q.filter, Sort: q.order, Hint: q.hint, Min: q.min, Max: q.max, Plain: q.plain()}
}

func (c *call) readQuery(filterField string) (query, error) {
	ns, err := c.namespace()
	if err != nil {
		return query{}, err
	}
	q := query{ns: ns, noDisk: c.noDisk()}
	filter, err := c.document(filterField)
	if err != nil {
		return q, err
	}
	if q.filter, err = c.filter(filter); err != nil {
		return q, err
	}
	if err := c.simpleCollation(c.body.Raw); err != nil {
		return q, err
	}
	if q.hint, err = c.hint(c.body.Raw); err != nil {
		return q, err
	}
	if q.skip, err = c.readAmount("skip"); err == nil {
		q.limit, err = c.readAmount("limit")
	}
	return q, err
}

// readAmount reads skip or limit; 0 when it is absent.
func (c *call) readAmount(name string) (int64, error) {
	v := c.body.Lookup(name)
	if v.IsZero() || v.Type == bson.TypeNull {
		return 0, nil
	}
	n, isNumber := v.AsInt64OK()
	if !isNumber {
		return 0, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s'", c.invoked, name,
			args.TypeName(v.Type))
	}
	if n < 0 && !(name == "limit" && c.invoked == "count") {
		return 0, mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be >= 0, actual value '%d'", name, n)
	}
	return max(n, -n), nil
}

// simpleCollation refuses every other.
func (c *call) simpleCollation(from bson.Raw) error {
	v := from.Lookup("collation")
	if v.IsZero() || v.Type == bson.TypeNull {
		return nil
	}
	collation, isDoc := v.DocumentOK()
	if !isDoc {
		return mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '%s.collation' is the wrong type '%s', expected type 'object'", c.invoked, args.TypeName(v.Type))
	}
	locale, named := collation.Lookup("locale").StringValueOK()
	switch {
	case len(collation) <= 5 || locale == "simple":
		return nil
	case !named:
		return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field 'collation.locale' is missing but a required field")
	}
	return mongoerr.New(mongoerr.NotImplemented, "the mock compares by bytes only: collation %s is not supported",
		collation)
}

// document reads an optional object; nil when it is absent.
func (c *call) document(name string) (bson.Raw, error) {
	v := c.body.Lookup(name)
	if v.IsZero() || v.Type == bson.TypeNull {
		return nil, nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected type 'object'",
			c.invoked, name, args.TypeName(v.Type))
	}
	return doc, nil
}

func find(c *call) (bson.D, error) {
	q, err := c.find.of(c)
	if err != nil {
		return nil, err
	}
	size, err := c.batchSize(c.body.Lookup("batchSize"))
	if err != nil {
		return nil, err
	}
	if c.args.Truth("allowPartialResults") {
		q.partial = new(bool)
	}
	if docs, ok, err := q.point(c, size); ok || err != nil {
		return bson.D{{Key: "cursor", Value: bson.D{{Key: "firstBatch", Value: docs}, {Key: "id", Value: int64(0)},
			{Key: "ns", Value: q.ns}}}}, err
	}
	cursor, err := findFirst(c, q, size)
	if err != nil {
		return nil, err
	}
	first := bson.D{{Key: "firstBatch", Value: cursor.batch}}
	if q.partial != nil && *q.partial {
		first = append(first, bson.E{Key: "partialResultsReturned", Value: true})
	}
	return bson.D{{Key: "cursor", Value: append(first, bson.E{Key: "id", Value: cursor.id},
		bson.E{Key: "ns", Value: q.ns})}}, nil
}

// prepared is the query of a find, read before the lock was taken.
type prepared struct {
	done  bool
	query query
	err   error
}

// quickBytes is how long a find may be to be read at once.
const quickBytes = 4 << 10

// prepare reads a find's query, where no lock is held and that can't take long:
// with variables there may be something to compute.
func (p *prepared) prepare(cmd *command, c *call) {
	if cmd.Name != "find" || len(c.body.Raw) > quickBytes || !c.body.Lookup("let").IsZero() {
		return
	}
	p.query, p.err = findQuery(c)
	p.done = true
}

// of returns the query of a find.
func (p *prepared) of(c *call) (query, error) {
	if p.done {
		return p.query, p.err
	}
	return outside(c, func(context.Context) (query, error) { return findQuery(c) })
}

// few reports whether a query has hardly more results than one: they are read at
// once, and a stream is not worth its while.
func (q query) few() bool {
	_, one := q.filter.Equality("_id")
	return q.limit == 1 || one && q.sort.IsEmpty()
}

// point finds the documents of a query for one value of one field with a look at an
// index, for which the lock need not be given back; ok is false where it takes more.
func (q query) point(c *call, size int) (docs []bson.Raw, ok bool, err error) {
	if !q.plain() || !q.sort.IsEmpty() || len(q.order) > 5 || len(q.min) > 5 || len(q.max) > 5 || q.projection != nil ||
		q.partial != nil || c.args.Truth("tailable") || c.node.member != nil || isView(c, q.ns) {
		return nil, false, nil
	}
	if _, special, err := c.nodes(); special || err != nil {
		return nil, false, err
	}
	docs, ok, err = c.request.Point(q.ns, q.filter)
	if q.limit > 0 {
		docs = docs[:min(int64(len(docs)), q.limit)]
	}
	var w weight
	for _, doc := range docs {
		w.add(doc)
	}
	return docs, ok && len(docs) < size && w < batchBytes, err
}

// findFirst runs a find as far as its first batch.
func findFirst(c *call, q query, size int) (opened, error) {
	open := &cursor{ns: q.ns, patient: c.args.Truth("noCursorTimeout"), held: new(weight)}
	q.held = open.held
	tailable := c.args.Truth("tailable")
	if tailable {
		// What comes later is read from where the find ended: nothing may come in between.
		if err := startTail(c, open, q); err != nil {
			return opened{}, err
		}
	}
	results, err := queried(c, q)
	switch {
	case err != nil:
		return opened{}, err
	case tailable:
		if open.left, err = outside(c, results.all); err != nil {
			return opened{}, err
		}
		limitTail(open, q, len(open.left))
	case c.args.Truth("singleBatch") || q.few() && size != 0:
		var batch bson.A
		whole := false
		err := c.outside(func(ctx context.Context) (err error) {
			batch, whole, err = results.first(ctx, size)
			return err
		})
		if err != nil || whole || c.args.Truth("singleBatch") {
			return opened{batch: batch}, err
		}
	}
	if !tailable {
		open.rest = results.start(c)
	}
	return openCursor(c, open, size, c.args.Truth("singleBatch"))
}

// findQuery reads a find command.
func findQuery(c *call) (query, error) {
	q, err := c.readQuery("filter")
	if err != nil {
		return q, err
	}
	if err := c.order(&q); err != nil {
		return q, err
	}
	if err := c.checkTailable(); err != nil {
		return q, err
	}
	q.returnKey, q.showRecord = args.Truth(c.body.Lookup("returnKey")), args.Truth(c.body.Lookup("showRecordId"))
	if q.min, err = c.document("min"); err != nil {
		return q, err
	}
	if q.max, err = c.document("max"); err != nil {
		return q, err
	}
	if q.projected, err = c.document("projection"); err != nil {
		return q, err
	}
	if len(q.projected) > 5 {
		q.projection, err = c.projection(q.projected, q.filter)
	}
	return q, err
}

// order reads how find sorts. {$natural: 1 | -1}, as the sort or as the hint, is
// the order of the records or its reverse.
func (c *call) order(q *query) error {
	order, err := c.document("sort")
	if err != nil {
		return err
	}
	q.order = order
	natural := order.Lookup("$natural")
	if natural.IsZero() {
		q.sort, err = c.sort("sort")
		return err
	}
	if fields, _ := order.Elements(); len(fields) > 1 {
		return mongoerr.New(mongoerr.BadValue, "Cannot include '$natural' in compound sort")
	}
	return checkNatural(natural)
}

func checkNatural(direction bson.RawValue) error {
	if n, isNumber := direction.AsInt64OK(); !isNumber || n != 1 && n != -1 {
		return mongoerr.New(mongoerr.BadValue, "$natural sort cannot be set to a value other than -1 or 1.")
	}
	return nil
}

// hint reads an index's name or key, or {$natural: ±1}.
func (c *call) hint(from bson.Raw) (bson.RawValue, error) {
	v := from.Lookup("hint")
	switch v.Type {
	case 0, bson.TypeNull, bson.TypeString:
		return v, nil
	case bson.TypeEmbeddedDocument:
		if direction := v.Document().Lookup("$natural"); !direction.IsZero() {
			return v, checkNatural(direction)
		}
		if len(v.Value) <= 5 {
			return bson.RawValue{}, nil
		}
		return v, nil
	}
	return v, mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
}

func (c *call) sort(name string) (*order.Sort, error) {
	doc, err := c.document(name)
	if err != nil || len(doc) <= 5 {
		return nil, err
	}
	return order.Compile(doc)
}

// batchSize of a first batch: 101 by default.
func (c *call) batchSize(v bson.RawValue) (int, error) {
	if v.IsZero() || v.Type == bson.TypeNull {
		return firstBatchDefault, nil
	}
	n, isNumber := v.AsInt64OK()
	if !isNumber {
		return 0, mongoerr.New(mongoerr.TypeMismatch, "BSON field 'batchSize' is the wrong type '%s'", args.TypeName(v.Type))
	}
	if n < 0 {
		return 0, mongoerr.New(mongoerr.BadValue, "BSON field 'batchSize' value must be >= 0, actual value '%d'", n)
	}
	return int(n), nil
}

// filter compiles a query with the command's variables and time.
func (c *call) filter(query bson.Raw) (*filter.Filter, error) {
	let, err := c.let()
	if err != nil {
		return nil, err
	}
	return filter.CompileWith(query, filter.Options{Let: let, Now: c.now})
}

func (c *call) projection(spec bson.Raw, filter *filter.Filter) (*projection.Projection, error) {
	let, err := c.let()
	if err != nil {
		return nil, err
	}
	return projection.CompileWith(spec, projection.Options{Filter: filter, Let: let, Now: c.now})
}

// count without a query sums the shards' fast counts, orphans included, as
// the server does (spec 03 §2.5).
func count(c *call) (bson.D, error) {
	q, err := outside(c, func(context.Context) (query, error) { return c.readQuery("query") })
	if err != nil {
		return nil, err
	}
	query, _ := c.document("query") // readQuery has found it well-formed
	if q.ns == "config.chunks" {
		if err := c.request.AskConfig(); err != nil {
			return nil, err
		}
	}
	if n, ok := c.cluster.ConfigDB().CountChunks(q.ns, query); ok && len(query) > 5 && q.skip == 0 && q.limit == 0 {
		return bson.D{{Key: "n", Value: smallest(n)}}, nil
	}
	if len(query) <= 5 && q.skip == 0 && q.limit == 0 && !isView(c, q.ns) {
		if err := c.request.Ask(q.ns, nil); err != nil {
			return nil, err
		}
		nodes, _, err := c.nodes()
		if err != nil {
			return nil, err
		}
		if nodes.Secondary {
			return secondaryCount(c, nodes, q.ns)
		}
		total := int64(0)
		byShard := bson.D{}
		for _, part := range c.cluster.Statistics().Collection(q.ns) {
			byShard = append(byShard, bson.E{Key: string(part.Shard), Value: smallest(part.Docs)})
			total += part.Docs
		}
		if primary := primaryOf(c.cluster, c.db); len(byShard) == 0 && primary != "" {
			byShard = bson.D{{Key: primary, Value: int32(0)}}
		}
		return bson.D{{Key: "shards", Value: byShard}, {Key: "n", Value: smallest(total)}}, nil
	}
	return countMatching(c, q)
}

// secondaryCount sums the fast counts of secondaries.
func secondaryCount(c *call, nodes mock.Node, ns string) (bson.D, error) {
	parts, err := c.request.ReadsFrom(nodes, ns, nil)
	if err != nil {
		return nil, err
	}
	total, byShard := int64(0), bson.D{}
	for _, part := range parts {
		n := c.request.CountOn(part, ns)
		byShard = append(byShard, bson.E{Key: string(part.Shard), Value: smallest(n)})
		total += n
	}
	return bson.D{{Key: "shards", Value: byShard}, {Key: "n", Value: smallest(total)}}, nil
}

// smallest returns the server's "append as smallest number": Int32 where it
// fits.
func smallest(n int64) any {
	if n == int64(int32(n)) {
		return int32(n)
	}
	return n
}

func distinct(c *call) (bson.D, error) {
	q, err := outside(c, func(context.Context) (query, error) { return c.readQuery("query") })
	if err != nil {
		return nil, err
	}
	key, err := c.text("key")
	if err != nil {
		return nil, err
	}
	if strings.Contains(key, "\x00") {
		return nil, mongoerr.New(31032, "Key field cannot contain an embedded null byte")
	}
	results, err := queried(c, q)
	if err != nil {
		return nil, err
	}
	return outside(c, func(ctx context.Context) (bson.D, error) {
		docs, err := results.all(ctx)
		if err != nil {
			return nil, err
		}
		found, err := store.Distinct(ctx, key, slices.Values(docs))
		if err != nil {
			return nil, err
		}
		if c.node.member == nil { // a mongos puts together what shards found
			slices.SortStableFunc(found, keyorder.Compare)
		}
		values := bson.A{}
		for _, v := range found {
			values = append(values, v)
		}
		return bson.D{{Key: "values", Value: values}}, nil
	})
}
