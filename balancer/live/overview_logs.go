package live

import (
	"slices"

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

// switches learns when the balancer was switched on or off last.
func (o *overview) switches() error {
	docs, err := o.find("actionlog",
		bson.D{{Key: "what", Value: bson.D{{Key: "$in", Value: bson.A{whatStart, whatStop}}}}},
		sortedBy("time", -1), bson.E{Key: "limit", Value: int32(1)})
	if err == nil && len(docs) > 0 {
		o.parts.Balancer.Switched = switchOf(catalog.ParseLogEntry(docs[0]))
	}
	return err
}

// movesRead is how many of the newest migrations an overview has.
const movesRead = 20

// moves reads the newest entries that donors wrote at the end of migrations, and
// those about what was copied, which come before.
func (o *overview) moves() error {
	what := bson.D{{Key: "$in", Value: bson.A{catalog.MigrationEnded, catalog.MigrationCommitted}}}
	docs, err := o.find("changelog", bson.D{{Key: "what", Value: what}}, sortedBy("$natural", -1),
		bson.E{Key: "limit", Value: int32(2 * movesRead)})
	slices.Reverse(docs)
	for _, doc := range docs {
		o.parts.Changes = append(o.parts.Changes, catalog.ParseLogEntry(doc))
	}
	return err
}

// outcomes has the server count what the donors wrote about migrations
// (rules/03-helpers-examples-traps §6.1, rows 12 and 13).
func (o *overview) outcomes() error {
	since := o.Now.Add(-o.Span)
	of := bson.D{
		{Key: "time", Value: bson.D{{Key: "$gt", Value: since}}}, {Key: "what", Value: catalog.MigrationEnded},
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

// underWay asks for the operations of donors, recipients and coordinators, and the
// config server for what it has listed (rules/03-commands §1.7). Who may not look sees none.
func (o *overview) underWay() error {
	ops, err := o.aggregate("admin", int32(1), operationStages()...)
	if err != nil {
		if err := o.gap(catalog.Gap{What: "operations"}, err); err != nil {
			return err
		}
	}
	donorsFirst(ops)
	var list activity
	for _, op := range ops {
		list.operation(op, o.Now)
	}
	if o.Parts&Migrations != 0 {
		if err := o.migrations(&list); err != nil {
			return err
		}
	}
	if o.Parts&Reshardings != 0 {
		if err := o.reshardings(&list); err != nil {
			return err
		}
	}
	o.parts.Migrations, o.parts.Reshardings = list.migrations, list.reshardings
	return nil
}

// migrations adds what the config server of releases before 5.0 tells. Later ones
// keep nothing of a migration that a router can read.
func (o *overview) migrations(list *activity) error {
	listed, err := o.readable("migrations", bson.D{})
	if err != nil {
		return err
	}
	for _, doc := range listed {
		list.migration(listedMigration(doc))
	}
	locks, err := o.readable("locks", bson.D{{Key: "state", Value: bson.D{{Key: "$eq", Value: int32(2)}}}})
	o.parts.Config["locks"] = locks
	for _, doc := range locks {
		if text(doc, "_id") == balancerLock {
			continue
		}
		when, _ := doc.Lookup("when").TimeOK()
		list.migration(catalog.ActiveMigration{Namespace: text(doc, "_id"), Since: when})
	}
	return err
}

// reshardings adds what the config server knows of those that $currentOp shows,
// and of those whose participants it does not.
func (o *overview) reshardings(list *activity) error {
	docs, err := o.readable("reshardingOperations", bson.D{})
	for _, doc := range docs {
		list.reshardingEntry(doc)
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
		return nil, o.gap(catalog.Gap{What: collection}, err)
	}
	return docs, nil
}
