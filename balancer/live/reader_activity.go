package live

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// readActivity reads the operations in progress. Since 5.0 a mongos sees migrations only as operations
// of their donors. Before, they are also in config.migrations and in the locks of config.locks
// (rules/03-commands §1.7).
func (r *reading) readActivity(ctx context.Context) error {
	var list activity
	ops, err := r.listFromShards(ctx, firstShardTimeout, query{database: "admin", pipeline: operationStages()})
	if err := r.gapOrError(ctx, RunningMigrations|RunningReshardings, catalog.Gap{What: "operations"}, err); err != nil {
		return err
	}
	donorsFirst(ops)
	for _, op := range ops {
		list.addOperation(op, r.parts.Time)
	}
	for _, op := range ops {
		if err := r.addWorkerMigration(ctx, op, &list); err != nil {
			return err
		}
	}
	before50 := r.parts.Release == (catalog.Release{}) || !r.parts.Release.FCVAtLeast(catalog.Release50)
	if r.wants(RunningMigrations) && before50 {
		if err := r.readListedMigrations(ctx, &list); err != nil {
			return err
		}
	}
	if r.wants(RunningReshardings) {
		docs, err := r.source.list(ctx, findQuery("reshardingOperations", bson.D{}))
		if err := r.gapOrError(ctx, RunningReshardings, catalog.Gap{What: "reshardingOperations"}, err); err != nil {
			return err
		}
		for _, doc := range docs {
			list.addReshardingEntry(doc)
		}
	}
	slices.SortStableFunc(list.migrations, func(a, b catalog.ActiveMigration) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(string(a.From), string(b.From)))
	})
	slices.SortStableFunc(list.reshardings,
		func(a, b catalog.ActiveResharding) int { return strings.Compare(a.Namespace, b.Namespace) })
	r.parts.Migrations, r.parts.Reshardings = list.migrations, list.reshardings
	return nil
}

// operationStages returns the stages that select the operations of shards that belong to migrations and
// reshardings.
func operationStages() []bson.D {
	return []bson.D{
		{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: true}, {Key: "idleConnections", Value: false}}}},
		{{Key: "$match", Value: bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "desc", Value: bson.Regex{Pattern: "^MoveChunk|^migrateThread|^ReshardingMetrics"}}},
			bson.D{{Key: "command._shardsvrMoveRange", Value: bson.D{{Key: "$exists", Value: true}}}},
		}}}}},
	}
}

// donorsFirst moves the operations that name the donor of a migration to the front. The other
// operations of the same migration contain no further information.
func donorsFirst(ops []bson.Raw) {
	slices.SortStableFunc(ops, func(a, b bson.Raw) int {
		return cmp.Compare(len(text(b, "command", "fromShard")), len(text(a, "command", "fromShard")))
	})
}

// readListedMigrations adds the migrations in config.migrations of config servers before 5.0.
func (r *reading) readListedMigrations(ctx context.Context, list *activity) error {
	docs, err := r.source.list(ctx, findQuery("migrations", bson.D{}))
	if err := r.gapOrError(ctx, RunningMigrations, catalog.Gap{What: "migrations"}, err); err != nil {
		return err
	}
	for _, doc := range docs {
		list.addMigration(catalog.ActiveMigration{
			Namespace: text(doc, "ns"),
			From:      catalog.ShardID(text(doc, "fromShard")), To: catalog.ShardID(text(doc, "toShard")),
			Min: document(doc, "min"), Max: document(doc, "max"),
		})
	}
	docs, err = r.source.list(ctx, findQuery("locks", bson.D{{Key: "state",
		Value: bson.D{{Key: "$eq", Value: int32(2)}}}}))
	if err := r.gapOrError(ctx, RunningMigrations, catalog.Gap{What: "locks"}, err); err != nil {
		return err
	}
	r.passDocuments("locks", docs)
	for _, doc := range docs {
		// The balancer, and commands that change a collection, hold locks as well.
		ns, why := text(doc, "_id"), strings.ToLower(text(doc, "why"))
		if strings.Contains(ns, ".") && (why == "" || strings.Contains(why, "migrat")) {
			list.addMigration(catalog.ActiveMigration{Namespace: ns, Since: date(doc, "when")})
		}
	}
	return nil
}

// activity collects operations in progress from overlapping sources, without duplicates.
type activity struct {
	migrations  []catalog.ActiveMigration
	reshardings []catalog.ActiveResharding
}

// addMigration adds a migration that is not in the list.
func (a *activity) addMigration(m catalog.ActiveMigration) {
	known := slices.ContainsFunc(a.migrations, func(o catalog.ActiveMigration) bool {
		return o.Namespace == m.Namespace && (o.From == m.From || o.From == "" || m.From == "")
	})
	if !known {
		a.migrations = append(a.migrations, m)
	}
}

// addWorkerMigration adds the migration of a worker without a command, because the command was killed or
// its sender has stepped down. Workers do not name their collection; the change log does.
func (r *reading) addWorkerMigration(ctx context.Context, op bson.Raw, list *activity) error {
	shard, party := catalog.ShardID(text(op, "shard")), "to"
	switch text(op, "desc") {
	case "MoveChunk":
		party = "from"
	case "migrateThread":
	default:
		return nil
	}
	known := slices.ContainsFunc(list.migrations, func(m catalog.ActiveMigration) bool {
		return m.From == shard || m.To == shard
	})
	if known || shard == "" || text(op, "ns") != "" {
		return nil
	}
	docs, err := r.source.list(ctx, findQuery("changelog", bson.D{{Key: "what", Value: "moveChunk.start"},
		{Key: "details." + party, Value: string(shard)}}).sortedBy("$natural", -1).withLimit(1))
	if err := r.gapOrError(ctx, RunningMigrations, catalog.Gap{What: "changelog"}, err); err != nil {
		return err
	}
	for _, doc := range docs {
		list.addMigration(catalog.ActiveMigration{
			Namespace: text(doc, "ns"), Since: date(doc, "time"),
			From: catalog.ShardID(text(doc, "details", "from")), To: catalog.ShardID(text(doc, "details", "to")),
			Min: document(doc, "details", "min"), Max: document(doc, "details", "max"),
		})
	}
	return nil
}

// addOperation adds the migration or resharding to which an operation of a shard belongs, if the
// operation names it.
func (a *activity) addOperation(op bson.Raw, now time.Time) {
	if strings.HasPrefix(text(op, "desc"), "ReshardingMetrics") {
		a.addResharding(op, now)
		return
	}
	m := catalog.ActiveMigration{
		Namespace: text(op, "command", "_shardsvrMoveRange"),
		From:      catalog.ShardID(text(op, "command", "fromShard")), To: catalog.ShardID(text(op, "command", "toShard")),
		Min: document(op, "command", "min"), Max: document(op, "command", "max"),
		Since: now.Add(-seconds(op, "secs_running")),
	}
	if m.Namespace == "" {
		m.Namespace = text(op, "ns")
	}
	if m.Namespace != "" {
		a.addMigration(m)
	}
}

// addResharding adds the state that a participant of a resharding reports: the coordinator reports the
// state, and recipients report the copied amount.
func (a *activity) addResharding(op bson.Raw, now time.Time) {
	of := a.reshardingOf(text(op, "ns"))
	if state := text(op, "coordinatorState"); state != "" {
		of.State = state
	}
	of.Remaining = max(of.Remaining, seconds(op, "remainingOperationTimeEstimatedSecs"))
	if elapsed := seconds(op, "totalOperationTimeElapsedSecs"); of.Since.IsZero() {
		of.Since = now.Add(-elapsed)
	}
	if kind := text(op, "provenance"); kind != "" {
		of.Kind = kind
	}
	of.CopiedBytes += integer(op, "bytesCopied") // each recipient copies a separate part
	of.TotalBytes += integer(op, "approxBytesToCopy")
}

// addReshardingEntry adds a document of config.reshardingOperations (rules/03-catalog-and-keys §3.11).
// Entries of finished reshardings stay there for a while.
func (a *activity) addReshardingEntry(doc bson.Raw) {
	state := text(doc, "state")
	if state == "quiesced" || state == "done" {
		return
	}
	of := a.reshardingOf(text(doc, "ns"))
	if of.State == "" {
		of.State = state
	}
	if at := date(doc, "startTime"); !at.IsZero() {
		of.Since = at
	}
	if kind := text(doc, "provenance"); kind != "" {
		of.Kind = kind
	}
}

// reshardingOf returns the resharding of a collection. Without a provenance it is a reshardCollection,
// like all reshardings before 8.0.
func (a *activity) reshardingOf(ns string) *catalog.ActiveResharding {
	i := slices.IndexFunc(a.reshardings, func(o catalog.ActiveResharding) bool { return o.Namespace == ns })
	if i < 0 {
		i = len(a.reshardings)
		a.reshardings = append(a.reshardings, catalog.ActiveResharding{Namespace: ns, Kind: "reshardCollection"})
	}
	return &a.reshardings[i]
}
