package router

import (
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// counters are what a mongos counts of its work since it began. They are safe
// for any number of connections at once.
type counters struct {
	inserted, queried, updated, deleted, gotMore, commanded atomic.Int64
	userErrors                                              atomic.Int64
	bytesIn, bytesOut                                       atomic.Int64
	connections, connected                                  atomic.Int64 // open now; ever
	active                                                  atomic.Int64
	reads, writes, others                                   latency
	// targeted counts the requests that went to all shards, many, one, or were
	// of collections that are not sharded, by command.
	targeted map[string]*[4]atomic.Int64
}

// latency sums what operations took, in real time.
type latency struct{ micros, count atomic.Int64 }

func (l *latency) add(d time.Duration) {
	l.micros.Add(d.Microseconds())
	l.count.Add(1)
}

// Where a request went.
const (
	toAllShards = iota
	toManyShards
	toOneShard
	toUnsharded
)

func newCounters() *counters {
	c := &counters{targeted: map[string]*[4]atomic.Int64{}}
	for _, name := range targetedCommands() {
		c.targeted[name] = new([4]atomic.Int64)
	}
	return c
}

func targetedCommands() []string { return []string{"find", "insert", "update", "delete", "aggregate"} }

// greet counts a connection at its first command.
func (c *counters) greet(client *wire.Client) {
	if client != nil && client.State == nil {
		c.connections.Add(1)
		c.connected.Add(1)
	}
}

// begin counts a request; what it gives counts the reply.
func (c *counters) begin(req wire.Request) func(reply bson.Raw) {
	c.greet(req.Client)
	c.active.Add(1)
	c.bytesIn.Add(int64(len(req.Body)))
	began := time.Now()
	return func(reply bson.Raw) {
		c.active.Add(-1)
		c.bytesOut.Add(int64(len(reply)))
		if code, isNumber := reply.Lookup("code").AsInt64OK(); isNumber && mongoerr.Code(code) != mongoerr.CommandNotFound {
			c.userErrors.Add(1)
		}
		took := time.Since(began)
		switch req.Command {
		case "find", "getMore", "aggregate", "count", "distinct":
			c.reads.add(took)
		case "insert", "update", "delete", "bulkWrite", "findAndModify", "findandmodify":
			c.writes.add(took)
		default:
			c.others.add(took)
		}
		c.operation(req)
	}
}

// requests returns how many have been answered.
func (c *counters) requests() int64 {
	return c.reads.count.Load() + c.writes.count.Load() + c.others.count.Load()
}

// operation counts what a request did by kind: inserts by document, updates
// and deletes by statement.
func (c *counters) operation(req wire.Request) {
	switch req.Command {
	case "insert":
		c.inserted.Add(lengthOf(req.Body.Lookup("documents")))
	case "update":
		c.updated.Add(lengthOf(req.Body.Lookup("updates")))
	case "delete":
		c.deleted.Add(lengthOf(req.Body.Lookup("deletes")))
	case "bulkWrite":
		c.bulk(req.Body.Lookup("ops"))
	case "find":
		c.queried.Add(1)
	case "getMore":
		c.gotMore.Add(1)
	default:
		c.commanded.Add(1)
	}
}

// bulk counts the operations of a bulkWrite.
func (c *counters) bulk(v bson.RawValue) {
	ops, _ := args.Documents(v)
	for _, op := range ops {
		first, err := op.IndexErr(0)
		if err != nil {
			continue
		}
		switch first.Key() {
		case "insert":
			c.inserted.Add(1)
		case "update":
			c.updated.Add(1)
		case "delete":
			c.deleted.Add(1)
		}
	}
}

func lengthOf(v bson.RawValue) int64 {
	array, isArray := v.ArrayOK()
	if !isArray {
		return 0
	}
	return int64(args.Length(array))
}
