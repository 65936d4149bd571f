package bindings

import (
	"fmt"
	"time"

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
func (s *Shell) failedRounds(config *database) failedRounds {
	var f failedRounds
	rounds := s.findAll(config, "actionlog", bson.D{{Key: "what", Value: "balancer.round"}}, sortedBy("time", -1), limitedTo(5))
	for _, doc := range rounds {
		if !truthyAt(doc, "details", "errorOccured") && !truthyAt(doc, "details", "errorOccurred") {
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
func (s *Shell) lookup(doc bson.Raw, path ...string) goja.Value {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return goja.Undefined()
	}
	return s.world.ToJS(v)
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
func (s *Shell) recentMigrations(config *database, now time.Time) []migrationResult {
	since := bson.D{{Key: "time", Value: bson.D{{Key: "$gt", Value: now.Add(-24 * time.Hour)}}}, {Key: "what", Value: "moveChunk.from"}}
	exists := func(yes bool) bson.D { return bson.D{{Key: "$exists", Value: yes}} }
	sum := bson.E{Key: "count", Value: bson.D{{Key: "$sum", Value: int32(1)}}}
	good := s.aggregateAll(config, "changelog",
		bson.D{{Key: "$match", Value: append(since[:2:2], bson.E{Key: "details.errmsg", Value: exists(false)}, bson.E{Key: "details.note", Value: "success"})}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "msg", Value: "$details.errmsg"}}}, sum}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$_id.msg", "Success"}}}}, {Key: "count", Value: "$count"}}}},
	)
	bad := s.aggregateAll(config, "changelog",
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
		list = append(list, migrationResult{id: "Success", result: "Success", count: numberOf(doc, "count")})
	}
	for _, doc := range bad {
		id := textAt(doc, "_id")
		list = append(list, migrationResult{
			id: id, result: fmt.Sprintf("Failed with error '%s'", id), count: numberOf(doc, "count"),
			from: textAt(doc, "from"), to: textAt(doc, "to"),
		})
	}
	return list
}

// activeMigration is a migration in progress.
type activeMigration struct {
	ns   string
	when time.Time
}

// activeMigrations asks the shards' operations: current servers keep no lock
// documents for migrations. Who may not look sees none.
func (s *Shell) activeMigrations(d, config *database) []activeMigration {
	var list []activeMigration
	locks, err := s.tryAll(config.request(bson.D{{Key: "find", Value: "locks"}, {Key: "filter", Value: bson.D{{Key: "state", Value: bson.D{{Key: "$eq", Value: int32(2)}}}}}}, reads))
	if err != nil {
		return nil
	}
	for _, doc := range locks {
		when, _ := doc.Lookup("when").TimeOK()
		list = append(list, activeMigration{ns: textAt(doc, "_id"), when: when})
	}
	ops, err := s.tryAggregate(d.sibling("admin"), int32(1),
		bson.D{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: true}, {Key: "idleConnections", Value: false}}}},
		bson.D{{Key: "$match", Value: bson.D{{Key: "desc", Value: bson.Regex{Pattern: "^MoveChunk|^migrateThread"}}}}},
	)
	if err != nil {
		return list
	}
	now := s.clock.Now()
	for _, op := range ops {
		list = append(list, activeMigration{ns: textAt(op, "ns"), when: now.Add(-time.Duration(numberOf(op, "secs_running") * float64(time.Second)))})
	}
	return list
}
