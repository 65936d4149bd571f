package call

import (
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// Counters are the counters of a mongos since its start. They are safe for concurrent use.
type Counters struct {
	Inserted, Queried, Updated, Deleted, GotMore, Commanded atomic.Int64
	UserErrors                                              atomic.Int64
	BytesIn, BytesOut                                       atomic.Int64
	OpenConnections, TotalConnections                       atomic.Int64 // currently open; since the start
	Active                                                  atomic.Int64
	Reads, Writes, Others                                   Latency
	// ByTarget counts requests by command and target: all shards, several shards, one shard, or an
	// unsharded collection.
	ByTarget map[string]*[4]atomic.Int64
	// Shards counts the requests to each shard. The cluster's lock guards it.
	Shards map[catalog.ShardID]ShardCounts
}

// ShardCounts counts the requests that a router has sent to a shard.
type ShardCounts struct {
	Attempted int64
	// Overloaded counts the requests that the shard rejected because of overload.
	Overloaded int64
}

// CountContacted counts the shards that a request contacted.
func (c *Counters) CountContacted(rq *mock.Request) {
	rq.EachContacted(func(id catalog.ShardID, err error) {
		n := c.Shards[id]
		n.Attempted++
		if mongoerr.IsOverloaded(err) {
			n.Overloaded++
		}
		c.Shards[id] = n
	})
}

// Latency is the sum of the real durations of operations, and their number.
type Latency struct{ Micros, Count atomic.Int64 }

func (l *Latency) add(d time.Duration) {
	l.Micros.Add(d.Microseconds())
	l.Count.Add(1)
}

// The targets of a request.
const (
	ToAllShards = iota
	ToManyShards
	ToOneShard
	ToUnsharded
)

// NewCounters returns counters that are 0.
func NewCounters() *Counters {
	c := &Counters{ByTarget: map[string]*[4]atomic.Int64{}, Shards: map[catalog.ShardID]ShardCounts{}}
	for _, name := range TargetedCommands() {
		c.ByTarget[name] = new([4]atomic.Int64)
	}
	return c
}

// TargetedCommands returns the commands that are counted by target.
func TargetedCommands() []string { return []string{"find", "insert", "update", "delete", "aggregate"} }

// countConnection counts a connection when its first command arrives.
func (c *Counters) countConnection(client *wire.ClientConn) {
	if client != nil && client.State == nil {
		c.OpenConnections.Add(1)
		c.TotalConnections.Add(1)
	}
}

// Begin counts a request. The returned function counts the reply.
func (c *Counters) Begin(req wire.Request) func(reply bson.Raw) {
	c.countConnection(req.Client)
	c.Active.Add(1)
	c.BytesIn.Add(int64(len(req.Body)))
	began := time.Now()
	return func(reply bson.Raw) {
		c.Active.Add(-1)
		c.BytesOut.Add(int64(len(reply)))
		if code, isNumber := reply.Lookup("code").AsInt64OK(); isNumber && mongoerr.Code(code) != mongoerr.CommandNotFound {
			c.UserErrors.Add(1)
		}
		took := time.Since(began)
		switch req.Command {
		case "find", "getMore", "aggregate", "count", "distinct":
			c.Reads.add(took)
		case "insert", "update", "delete", "bulkWrite", "findAndModify", "findandmodify":
			c.Writes.add(took)
		default:
			c.Others.add(took)
		}
		c.countOperation(req)
	}
}

// Requests returns the number of answered requests.
func (c *Counters) Requests() int64 {
	return c.Reads.Count.Load() + c.Writes.Count.Load() + c.Others.Count.Load()
}

// countOperation counts the operations of a request by kind: each inserted document, each update and
// delete statement.
func (c *Counters) countOperation(req wire.Request) {
	switch req.Command {
	case "insert":
		c.Inserted.Add(lengthOf(req.Body.Lookup("documents")))
	case "update":
		c.Updated.Add(lengthOf(req.Body.Lookup("updates")))
	case "delete":
		c.Deleted.Add(lengthOf(req.Body.Lookup("deletes")))
	case "bulkWrite":
		c.countBulk(req.Body.Lookup("ops"))
	case "find":
		c.Queried.Add(1)
	case "getMore":
		c.GotMore.Add(1)
	default:
		c.Commanded.Add(1)
	}
}

// countBulk counts the operations of a bulkWrite.
func (c *Counters) countBulk(v bson.RawValue) {
	ops, _ := args.Documents(v)
	for _, op := range ops {
		first, err := op.IndexErr(0)
		if err != nil {
			continue
		}
		switch first.Key() {
		case "insert":
			c.Inserted.Add(1)
		case "update":
			c.Updated.Add(1)
		case "delete":
			c.Deleted.Add(1)
		}
	}
}

func lengthOf(v bson.RawValue) int64 {
	array, isArray := v.ArrayOK()
	if !isArray {
		return 0
	}
	return int64(args.ElementCount(array))
}
