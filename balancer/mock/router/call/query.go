package call

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/projection"
	"shardsh/balancer/mongoerr"
)

// Query is what find, count and distinct share.
type Query struct {
	NS             string
	Filter         *filter.Filter
	Collation      bson.Raw    // nil for bytewise order; other collations must not compare strings
	Sort           *order.Sort // nil for the natural order
	SortPattern    bson.Raw    // the sort pattern, or {$natural: ±1}
	Hint           bson.RawValue
	Min, Max       bson.Raw
	Projection     *projection.Projection
	ProjectionSpec bson.Raw // the projection as sent
	Skip, Limit    int64
	CountOnly      bool // only the number of documents is needed
	ReturnKey      bool
	ShowRecord     bool
	// PartialResultsReturned is set to true if shards were skipped. If it is nil, an unavailable shard is an error.
	PartialResultsReturned *bool
	// SortBytes counts the documents that the query holds for sorting.
	HeldBytes *ByteCount
	// NoDisk rejects a sort that needs more memory than a server allows.
	NoDisk bool
}

// AllowsExpress reports whether the query may use the express path by _id.
func (q Query) AllowsExpress() bool {
	return q.Skip == 0 && q.Hint.IsZero() && !q.ReturnKey && !q.ShowRecord
}

// StoreQuery returns the query in the format of a shard's store.
func (q Query) StoreQuery() store.Query {
	return store.Query{Filter: q.Filter, Sort: q.SortPattern, Hint: q.Hint, Min: q.Min, Max: q.Max,
		AllowExpress: q.AllowsExpress(),
		HasCollation: q.Collation != nil,
		Shape:        store.ResultShape{Projection: q.ProjectionSpec, IsCount: q.CountOnly}}
}

// ReadQuery reads the fields that find, count and distinct share. The name of the filter field differs
// between the commands.
func (c *Call) ReadQuery(filterField string) (Query, error) {
	ns, err := c.Namespace()
	if err != nil {
		return Query{}, err
	}
	q := Query{NS: ns, NoDisk: c.ForbidsDiskUse()}
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
	return q, CheckNoStrings(q.Collation, c.Body.Lookup(filterField), c.Body.Lookup("let"))
}

// readAmount reads skip or limit, 0 if it is absent.
func (c *Call) readAmount(name string) (int64, error) {
	v := c.Body.Lookup(name)
	if v.IsZero() || v.Type == bson.TypeNull {
		return 0, nil
	}
	n, isNumber := v.AsInt64OK()
	if !isNumber {
		return 0, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s'", c.InvokedAs, name,
			args.TypeName(v.Type))
	}
	if n < 0 && !(name == "limit" && c.InvokedAs == "count") {
		return 0, mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be >= 0, actual value '%d'", name, n)
	}
	return max(n, -n), nil
}

// PreparedQuery is the query of a find that was parsed before the lock was taken.
type PreparedQuery struct {
	done  bool
	query Query
	err   error
}

// maxPreparedBytes is the maximum size, in bytes, of a find that Prepare parses.
const maxPreparedBytes = 4 << 10

// Prepare parses the query of a find before the lock is taken. It skips finds for which this may take
// long: large ones and ones with variables to compute.
func (p *PreparedQuery) Prepare(cmd *Command, c *Call) {
	if cmd.Name != "find" || len(c.Body.Raw) > maxPreparedBytes || !c.Body.Lookup("let").IsZero() {
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

// FindQuery parses a find command.
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
	q.ReturnKey, q.ShowRecord = args.IsTrueOrNonzero(c.Body.Lookup("returnKey")),
		args.IsTrueOrNonzero(c.Body.Lookup("showRecordId"))
	if q.Min, err = c.Document("min"); err != nil {
		return q, err
	}
	if q.Max, err = c.Document("max"); err != nil {
		return q, err
	}
	hint, ok := c.Body.Lookup("hint").DocumentOK()
	if ok && document.IsEmpty(hint) && !(document.IsEmpty(q.Min) && document.IsEmpty(q.Max)) {
		err := mongoerr.New(mongoerr.NoQueryExecutionPlans,
			"When using min()/max() a hint of which index to use must be provided")
		err.Cause = &store.PlannerError{Text: err.Message}
		return q, err
	}
	if q.ProjectionSpec, err = c.Document("projection"); err != nil {
		return q, err
	}
	if !document.IsEmpty(q.ProjectionSpec) {
		q.Projection, err = c.Projection(q.ProjectionSpec, q.Filter)
	}
	return q, err
}

// readOrder reads the sort of a find.
//
// {$natural: ±1}, as sort or as hint, is the natural order or its reverse.
func (c *Call) readOrder(q *Query) error {
	order, err := c.Document("sort")
	if err != nil {
		return err
	}
	q.SortPattern = order
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

// checkTailable checks the fields of find that depend on tailable.
func (c *Call) checkTailable() error {
	if !c.Args.Bool("tailable") {
		if c.Args.Bool("awaitData") {
			return mongoerr.New(mongoerr.FailedToParse, "Cannot set 'awaitData' without also setting 'tailable'")
		}
		return nil
	}
	if c.Args.Bool("singleBatch") {
		return mongoerr.New(mongoerr.BadValue, "cannot use tailable option with the 'singleBatch' option")
	}
	sort := c.Args.Object("sort")
	elems, _ := sort.Elements()
	if natural, _ := sort.Lookup("$natural").AsInt64OK(); len(elems) > 0 && natural != 1 {
		return mongoerr.New(mongoerr.BadValue, "cannot use tailable option with a sort other than {$natural: 1}")
	}
	return nil
}

// IsView reports whether a namespace is a view. It is always false on a member, because routers resolve
// the views.
func IsView(c *Call, ns string) bool {
	if c.Node.Member != nil {
		return false
	}
	_, _, isView := c.Cluster.Collections().ResolveView(ns, "")
	return isView
}
