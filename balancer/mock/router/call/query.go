package call

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/projection"
	"shardsh/balancer/mongoerr"
)

// Query is what find, count and distinct share.
type Query struct {
	NS          string
	Filter      *filter.Filter
	Collation   bson.Raw    // nil is the order by bytes; no text may be compared by another
	Sort        *order.Sort // nil: as the documents come
	Order       bson.Raw    // the pattern of sort, or {$natural: ±1}
	Hint        bson.RawValue
	Min, Max    bson.Raw
	Projection  *projection.Projection
	Projected   bson.Raw // the projection as it was given
	Skip, Limit int64
	CountOnly   bool // no documents are needed
	ReturnKey   bool
	ShowRecord  bool
	// Partial is set where shards were left out; nil refuses that.
	Partial *bool
	// HeldBytes counts what has to be kept to be sorted.
	HeldBytes *ByteCount
	// NoDisk: a sort that keeps more than a server would is refused.
	NoDisk bool
}

// IsPlain reports whether the query may take the express path by _id.
func (q Query) IsPlain() bool {
	return q.Skip == 0 && q.Hint.IsZero() && !q.ReturnKey && !q.ShowRecord
}

// Request is the query as a shard's store sees it.
func (q Query) Request() store.Query {
	return store.Query{Filter: q.Filter, Sort: q.Order, Hint: q.Hint, Min: q.Min, Max: q.Max, AllowExpress: q.IsPlain(),
		HasCollation: q.Collation != nil,
		Shape:        store.ResultShape{Projection: q.Projected, IsCount: q.CountOnly}}
}

// ReadQuery reads what find, count and distinct share; the filter's field has another name in each.
func (c *Call) ReadQuery(filterField string) (Query, error) {
	ns, err := c.Namespace()
	if err != nil {
		return Query{}, err
	}
	q := Query{NS: ns, NoDisk: c.NoDisk()}
	filter, err := c.Document(filterField)
	if err != nil {
		return q, err
	}
	if q.Filter, err = c.Filter(filter); err != nil {
		return q, err
	}
	if q.Collation, err = c.Collation(c.Body.Raw); err != nil {
		return q, err
	}
	if q.Hint, err = c.Hint(c.Body.Raw); err != nil {
		return q, err
	}
	if q.Skip, err = c.readAmount("skip"); err == nil {
		q.Limit, err = c.readAmount("limit")
	}
	if err != nil || q.Collation == nil {
		return q, err
	}
	return q, CheckNoTexts(q.Collation, c.Body.Lookup(filterField), c.Body.Lookup("let"))
}

// readAmount reads skip or limit; 0 when it is absent.
func (c *Call) readAmount(name string) (int64, error) {
	v := c.Body.Lookup(name)
	if v.IsZero() || v.Type == bson.TypeNull {
		return 0, nil
	}
	n, isNumber := v.AsInt64OK()
	if !isNumber {
		return 0, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s'", c.Invoked, name,
			args.TypeName(v.Type))
	}
	if n < 0 && !(name == "limit" && c.Invoked == "count") {
		return 0, mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be >= 0, actual value '%d'", name, n)
	}
	return max(n, -n), nil
}

// PreparedQuery is the query of a find, read before the lock was taken.
type PreparedQuery struct {
	done  bool
	query Query
	err   error
}

// quickBytes is how long a find may be to be read at once.
const quickBytes = 4 << 10

// Prepare reads a find's query, where no lock is held and that can't take long:
// with variables there may be something to compute.
func (p *PreparedQuery) Prepare(cmd *Command, c *Call) {
	if cmd.Name != "find" || len(c.Body.Raw) > quickBytes || !c.Body.Lookup("let").IsZero() {
		return
	}
	p.query, p.err = FindQuery(c)
	p.done = true
}

// Query returns the query of a find.
func (p *PreparedQuery) Query(c *Call) (Query, error) {
	if p.done {
		return p.query, p.err
	}
	return WithoutLock(c, func(context.Context) (Query, error) { return FindQuery(c) })
}

// FindQuery reads a find command.
func FindQuery(c *Call) (Query, error) {
	q, err := c.ReadQuery("filter")
	if err != nil {
		return q, err
	}
	if err := c.readOrder(&q); err != nil {
		return q, err
	}
	if err := c.checkTailable(); err != nil {
		return q, err
	}
	q.ReturnKey, q.ShowRecord = args.Truth(c.Body.Lookup("returnKey")), args.Truth(c.Body.Lookup("showRecordId"))
	if q.Min, err = c.Document("min"); err != nil {
		return q, err
	}
	if q.Max, err = c.Document("max"); err != nil {
		return q, err
	}
	hint, is := c.Body.Lookup("hint").DocumentOK()
	if is && len(hint) <= emptyBytes && max(len(q.Min), len(q.Max)) > emptyBytes {
		err := mongoerr.New(mongoerr.NoQueryExecutionPlans,
			"When using min()/max() a hint of which index to use must be provided")
		err.Cause = &store.PlannerError{Text: err.Message}
		return q, err
	}
	if q.Projected, err = c.Document("projection"); err != nil {
		return q, err
	}
	if len(q.Projected) > 5 {
		q.Projection, err = c.Projection(q.Projected, q.Filter)
	}
	return q, err
}

// readOrder reads how find sorts. {$natural: 1 | -1}, as the sort or as the hint, is
// the order of the records or its reverse.
func (c *Call) readOrder(q *Query) error {
	order, err := c.Document("sort")
	if err != nil {
		return err
	}
	q.Order = order
	natural := order.Lookup("$natural")
	if natural.IsZero() {
		q.Sort, err = c.readSort("sort")
		return err
	}
	if fields, _ := order.Elements(); len(fields) > 1 {
		return mongoerr.New(mongoerr.BadValue, "Cannot include '$natural' in compound sort")
	}
	return checkNatural(natural)
}

// checkTailable checks the arguments of find that go with tailable.
func (c *Call) checkTailable() error {
	if !c.Args.Truth("tailable") {
		if c.Args.Truth("awaitData") {
			return mongoerr.New(mongoerr.FailedToParse, "Cannot set 'awaitData' without also setting 'tailable'")
		}
		return nil
	}
	if c.Args.Truth("singleBatch") {
		return mongoerr.New(mongoerr.BadValue, "cannot use tailable option with the 'singleBatch' option")
	}
	sort := c.Args.Object("sort")
	elems, _ := sort.Elements()
	if natural, _ := sort.Lookup("$natural").AsInt64OK(); len(elems) > 0 && natural != 1 {
		return mongoerr.New(mongoerr.BadValue, "cannot use tailable option with a sort other than {$natural: 1}")
	}
	return nil
}

// IsView reports whether a namespace is a view. A member shows none: its router
// has them.
func IsView(c *Call, ns string) bool {
	if c.Node.Member != nil {
		return false
	}
	_, _, isView := c.Cluster.Collections().ResolveView(ns, "")
	return isView
}
