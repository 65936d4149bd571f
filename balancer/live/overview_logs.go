package live

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// roundsRead is how many of the newest rounds an overview has.
const roundsRead = 5

func (o *overview) rounds() error {
	docs, err := o.find("actionlog", bson.D{{Key: "what", Value: "balancer.round"}}, sortedBy("time", -1),
		bson.E{Key: "limit", Value: int32(roundsRead)})
	slices.Reverse(docs) // in case they have the same time
	for _, doc := range docs {
		at, _ := doc.Lookup("time").TimeOK()
		o.parts.Actions = append(o.parts.Actions, catalog.LogEntry{
			Time: at, What: text(doc, "what"), Namespace: text(doc, "ns"), Raw: doc,
		})
	}
	return err
}

// outcomes has the server count what the donors wrote about migrations
// (spec 03 §6.1, rows 12 and 13).
func (o *overview) outcomes() error {
	since := o.Now.Add(-o.Span)
	of := bson.D{
		{Key: "time", Value: bson.D{{Key: "$gt", Value: since}}}, {Key: "what", Value: "moveChunk.from"},
	}
	exists := func(yes bool) bson.D { return bson.D{{Key: "$exists", Value: yes}} }
	count := bson.E{Key: "count", Value: bson.D{{Key: "$sum", Value: int32(1)}}}
	good, err := o.aggregate("config", "changelog",
		bson.D{{Key: "$match", Value: append(of[:2:2],
			bson.E{Key: "details.errmsg", Value: exists(false)}, bson.E{Key: "details.note", Value: "success"})}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, count}}},
	)
	if err != nil {
		return err
	}
	failed := bson.A{
		bson.D{{Key: "details.errmsg", Value: exists(true)}},
		bson.D{{Key: "details.note", Value: bson.D{{Key: "$ne", Value: "success"}}}},
	}
	bad, err := o.aggregate("config", "changelog",
		bson.D{{Key: "$match", Value: append(of[:2:2], bson.E{Key: "$or", Value: failed})}},
		bson.D{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: bson.D{
				{Key: "msg", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$details.errmsg", "aborted"}}}},
				{Key: "from", Value: "$details.from"}, {Key: "to", Value: "$details.to"},
			}}, count,
		}}},
	)
	o.parts.Outcomes = &catalog.Outcomes{Since: since}
	for _, doc := range slices.Concat(good, bad) {
		o.parts.Outcomes.Counts = append(o.parts.Outcomes.Counts, catalog.Outcome{
			Error: text(doc, "_id", "msg"), From: catalog.ShardID(text(doc, "_id", "from")),
			To: catalog.ShardID(text(doc, "_id", "to")), Count: integer(doc, "count"),
		})
	}
	return err
}

// migrations asks the donors' operations, as servers since 5.0 keep nothing else
// of a migration that a router can read, and before that the config server's
// lists (spec 03 §1.7). Who may not look sees none.
func (o *overview) migrations() error {
	ops, err := o.aggregate("admin", int32(1),
		bson.D{{Key: "$currentOp", Value: bson.D{
			{Key: "allUsers", Value: true}, {Key: "idleConnections", Value: false},
		}}},
		bson.D{{Key: "$match", Value: bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "desc", Value: bson.Regex{Pattern: "^MoveChunk|^migrateThread"}}},
			bson.D{{Key: "command._shardsvrMoveRange", Value: bson.D{{Key: "$exists", Value: true}}}},
		}}}}},
	)
	if err != nil {
		if err := o.gap(catalog.Gap{What: "migrations under way"}, err); err != nil {
			return err
		}
	}
	// Those that name the donor first: others of the same migration add nothing.
	slices.SortStableFunc(ops, func(a, b bson.Raw) int {
		return len(text(b, "command", "fromShard")) - len(text(a, "command", "fromShard"))
	})
	for _, op := range ops {
		o.addMigration(o.migration(op))
	}
	listed, err := o.readable("migrations", bson.D{})
	if err != nil {
		return err
	}
	for _, doc := range listed {
		o.addMigration(catalog.ActiveMigration{
			Namespace: text(doc, "ns"),
			From:      catalog.ShardID(text(doc, "fromShard")), To: catalog.ShardID(text(doc, "toShard")),
		})
	}
	locks, err := o.readable("locks", bson.D{{Key: "state", Value: bson.D{{Key: "$eq", Value: int32(2)}}}})
	o.parts.Config["locks"] = locks
	for _, doc := range locks {
		if text(doc, "_id") == balancerLock {
			continue
		}
		when, _ := doc.Lookup("when").TimeOK()
		o.addMigration(catalog.ActiveMigration{Namespace: text(doc, "_id"), Since: when})
	}
	return err
}

// balancerLock is held for good by config servers up to 5.0, and is about no
// collection.
const balancerLock = "balancer"

// readable returns documents of the config database; none when the user may not
// look.
func (o *overview) readable(collection string, filter bson.D) ([]bson.Raw, error) {
	docs, err := o.find(collection, filter)
	if err != nil {
		return nil, o.gap(catalog.Gap{What: "config." + collection}, err)
	}
	return docs, nil
}

// migration reads an operation of a donor or recipient.
func (o *overview) migration(op bson.Raw) catalog.ActiveMigration {
	seconds, _ := op.Lookup("secs_running").AsFloat64OK()
	m := catalog.ActiveMigration{
		Namespace: text(op, "command", "_shardsvrMoveRange"),
		From:      catalog.ShardID(text(op, "command", "fromShard")), To: catalog.ShardID(text(op, "command", "toShard")),
		Since: o.Now.Add(-time.Duration(seconds * float64(time.Second))),
	}
	if m.Namespace == "" {
		m.Namespace = text(op, "ns")
	}
	m.Min, _ = op.Lookup("command", "min").DocumentOK()
	m.Max, _ = op.Lookup("command", "max").DocumentOK()
	return m
}

// addMigration adds a migration unless it is known already, from another
// operation that is part of it.
func (o *overview) addMigration(m catalog.ActiveMigration) {
	for _, known := range o.parts.Migrations {
		if known.Namespace == m.Namespace && (known.From == m.From || known.From == "" || m.From == "") {
			return
		}
	}
	o.parts.Migrations = append(o.parts.Migrations, m)
}
