package sh

import (
	"fmt"
	"slices"
	"time"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// failedRounds is what the action log says of the last balancer rounds.
type failedRounds struct {
	count   int
	message goja.Value
	when    goja.Value
}

// failedRounds looks at the newest five rounds. Servers write errorOccurred,
// once it was errorOccured; both count (spec 04 §5.4).
func (s *Host) failedRounds(config *server.Database) failedRounds {
	var f failedRounds
	rounds := config.FindAll("actionlog", bson.D{{Key: "what", Value: "balancer.round"}}, server.SortedBy("time", -1), server.LimitedTo(5))
	for _, doc := range rounds {
		if !rawdoc.TruthyAt(doc, "details", "errorOccured") && !rawdoc.TruthyAt(doc, "details", "errorOccurred") {
			continue
		}
		if f.count == 0 {
			f.message, f.when = s.lookup(doc, "details", "errmsg"), s.lookup(doc, "time")
		}
		f.count++
	}
	return f
}

// lookup is a field of a document as a value; undefined when it is missing.
func (s *Host) lookup(doc bson.Raw, path ...string) goja.Value {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return goja.Undefined()
	}
	return s.JS.World.ToJS(v)
}

// migrationResult counts the migrations that ended alike.
type migrationResult struct {
	id       string // "Success", or the error
	result   string
	count    float64
	from, to string
}

func (m migrationResult) text() string {
	if m.from == "" {
		return m.result
	}
	return fmt.Sprintf("%s, from %s to %s", m.result, m.from, m.to)
}

// recentMigrations groups what the change log says of the last day's migrations
// (spec 03 §6.1, rows 12 and 13).
func (s *Host) recentMigrations(config *server.Database, now time.Time) []migrationResult {
	return s.migrationsAfter(config, now.Add(-24*time.Hour))
}

func (s *Host) migrationsAfter(config *server.Database, then time.Time) []migrationResult {
	since := bson.D{{Key: "time", Value: bson.D{{Key: "$gt", Value: then}}}, {Key: "what", Value: "moveChunk.from"}}
	exists := func(yes bool) bson.D { return bson.D{{Key: "$exists", Value: yes}} }
	sum := bson.E{Key: "count", Value: bson.D{{Key: "$sum", Value: int32(1)}}}
	good := config.AggregateAll("changelog",
		bson.D{{Key: "$match", Value: append(since[:2:2], bson.E{Key: "details.errmsg", Value: exists(false)}, bson.E{Key: "details.note", Value: "success"})}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "msg", Value: "$details.errmsg"}}}, sum}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$_id.msg", "Success"}}}}, {Key: "count", Value: "$count"}}}},
	)
	bad := config.AggregateAll("changelog",
		bson.D{{Key: "$match", Value: append(since[:2:2], bson.E{Key: "$or", Value: bson.A{
			bson.D{{Key: "details.errmsg", Value: exists(true)}},
			bson.D{{Key: "details.note", Value: bson.D{{Key: "$ne", Value: "success"}}}},
		}})}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: bson.D{
			{Key: "msg", Value: "$details.errmsg"}, {Key: "from", Value: "$details.from"}, {Key: "to", Value: "$details.to"},
		}}, sum}}},
		bson.D{{Key: "$project", Value: bson.D{
			{Key: "_id", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$_id.msg", "aborted"}}}},
			{Key: "from", Value: "$_id.from"}, {Key: "to", Value: "$_id.to"}, {Key: "count", Value: "$count"},
		}}},
	)
	var list []migrationResult
	for _, doc := range good {
		list = append(list, migrationResult{id: "Success", result: "Success", count: rawdoc.Number(doc, "count")})
	}
	for _, doc := range bad {
		id := rawdoc.Text(doc, "_id")
		list = append(list, migrationResult{
			id: id, result: fmt.Sprintf("Failed with error '%s'", id), count: rawdoc.Number(doc, "count"),
			from: rawdoc.Text(doc, "from"), to: rawdoc.Text(doc, "to"),
		})
	}
	return list
}

// activeMigration is a migration in progress.
type activeMigration struct {
	ns       string
	from, to string    // empty when only a lock tells of it
	when     time.Time // zero when nobody tells
}

// text is a migration as sh.status() lists it.
func (m activeMigration) text() string {
	if m.when.IsZero() {
		return m.ns
	}
	return m.ns + " started at " + m.when.Format("Mon Jan 02 2006 15:04:05 GMT-0700 (MST)")
}

// began is when a migration started, or null.
func (m activeMigration) began(s *Host) goja.Value {
	if m.when.IsZero() {
		return goja.Null()
	}
	return s.JS.GoValue(m.when)
}

// activeMigrations asks the donors' operations, as servers since 5.0 keep
// nothing else of a migration that a router can read, and before that the
// config server's lists (spec 03 §1.7). Who may not look sees none.
func (s *Host) activeMigrations(d, config *server.Database) []activeMigration {
	var list []activeMigration
	add := func(m activeMigration) {
		for _, other := range list {
			if other.ns == m.ns && (other.from == m.from || other.from == "" || m.from == "") {
				return
			}
		}
		list = append(list, m)
	}
	ops, err := d.Sibling("admin").TryAggregate(int32(1),
		bson.D{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: true}, {Key: "idleConnections", Value: false}}}},
		bson.D{{Key: "$match", Value: bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "desc", Value: bson.Regex{Pattern: "^MoveChunk|^migrateThread"}}},
			bson.D{{Key: "command._shardsvrMoveRange", Value: bson.D{{Key: "$exists", Value: true}}}},
		}}}}},
	)
	if err == nil {
		// Those that name the donor first: others of the same migration add nothing.
		slices.SortStableFunc(ops, func(a, b bson.Raw) int {
			return len(rawdoc.Text(b, "command", "fromShard")) - len(rawdoc.Text(a, "command", "fromShard"))
		})
		now := s.JS.Clock.Now()
		for _, op := range ops {
			m := activeMigration{
				ns: rawdoc.Text(op, "command", "_shardsvrMoveRange"), from: rawdoc.Text(op, "command", "fromShard"), to: rawdoc.Text(op, "command", "toShard"),
				when: now.Add(-time.Duration(rawdoc.Number(op, "secs_running") * float64(time.Second))),
			}
			if m.ns == "" {
				m.ns = rawdoc.Text(op, "ns")
			}
			add(m)
		}
	}
	for _, doc := range s.readable(config, "migrations", bson.D{}) {
		add(activeMigration{ns: rawdoc.Text(doc, "ns"), from: rawdoc.Text(doc, "fromShard"), to: rawdoc.Text(doc, "toShard")})
	}
	for _, doc := range s.readable(config, "locks", bson.D{{Key: "state", Value: bson.D{{Key: "$eq", Value: int32(2)}}}}) {
		when, _ := doc.Lookup("when").TimeOK()
		add(activeMigration{ns: rawdoc.Text(doc, "_id"), when: when})
	}
	return list
}

// readable finds documents; none when the user may not look.
func (s *Host) readable(d *server.Database, collection string, filter bson.D) []bson.Raw {
	docs, _ := s.Gateway.TryAll(d.Request(bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}}, server.Reads))
	return docs
}
