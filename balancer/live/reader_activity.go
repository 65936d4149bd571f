package live

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
)

// activity reads what is under way. Since 5.0 the donors' operations are all
// that a router can see of migrations; before, config.migrations and the locks
// of config.locks tell of them (rules/03-commands §1.7).
func (r *reading) activity(ctx context.Context) error {
	var list activity
	ops, err := r.operations(ctx)
	if err := r.part(ctx, catalog.Gap{What: "operations"}, err); err != nil {
		return err
	}
	for _, op := range ops {
		list.operation(op, r.parts.Time)
	}
	reshardings, err := r.documents(ctx, "reshardingOperations", bson.D{})
	if err := r.part(ctx, catalog.Gap{What: "reshardingOperations"}, err); err != nil {
		return err
	}
	for _, doc := range reshardings {
		list.reshardingEntry(doc)
	}
	if !r.parts.Release.AtLeast(catalog.Release50) {
		if err := r.oldMigrations(ctx, &list); err != nil {
			return err
		}
	}
	slices.SortFunc(list.migrations, func(a, b catalog.ActiveMigration) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(string(a.From), string(b.From)))
	})
	slices.SortFunc(list.reshardings,
		func(a, b catalog.ActiveResharding) int { return strings.Compare(a.Namespace, b.Namespace) })
	r.parts.Migrations, r.parts.Reshardings = list.migrations, list.reshardings
	return nil
}

// operations returns those of the shards that belong to migrations and
// reshardings; of a migration those that name the donor come first.
func (r *reading) operations(ctx context.Context) ([]bson.Raw, error) {
	ops, err := rows(ctx, func() (*mongo.Cursor, error) { return r.admin.Aggregate(ctx, operationStages()) })
	donorsFirst(ops)
	return ops, err
}

// operationStages finds the operations of shards that belong to migrations and
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

// donorsFirst sorts operations: others of the same migration add nothing to those
// that name the donor.
func donorsFirst(ops []bson.Raw) {
	slices.SortStableFunc(ops, func(a, b bson.Raw) int {
		return cmp.Compare(len(text(b, "command", "fromShard")), len(text(a, "command", "fromShard")))
	})
}

func (r *reading) oldMigrations(ctx context.Context, list *activity) error {
	docs, err := r.documents(ctx, "migrations", bson.D{})
	if err := r.part(ctx, catalog.Gap{What: "migrations"}, err); err != nil {
		return err
	}
	for _, doc := range docs {
		list.migration(listedMigration(doc))
	}
	docs, err = r.documents(ctx, "locks", bson.D{{Key: "state", Value: 2}})
	if err := r.part(ctx, catalog.Gap{What: "locks"}, err); err != nil {
		return err
	}
	for _, doc := range docs {
		// Others hold locks too: the balancer, and commands that change a collection.
		if why := strings.ToLower(text(doc, "why")); strings.Contains(text(doc, "_id"), ".") &&
			strings.Contains(why, "migrat") {
			list.migration(catalog.ActiveMigration{Namespace: text(doc, "_id"), Since: date(doc, "when")})
		}
	}
	return nil
}

// listedMigration reads a document of config.migrations.
func listedMigration(doc bson.Raw) catalog.ActiveMigration {
	return catalog.ActiveMigration{
		Namespace: text(doc, "ns"),
		From:      catalog.ShardID(text(doc, "fromShard")), To: catalog.ShardID(text(doc, "toShard")),
		Min: document(doc, "min"), Max: document(doc, "max"),
	}
}

// activity collects what is under way, from sources that tell of the same.
type activity struct {
	migrations  []catalog.ActiveMigration
	reshardings []catalog.ActiveResharding
}

// migration adds a migration that is not known yet.
func (a *activity) migration(m catalog.ActiveMigration) {
	known := slices.ContainsFunc(a.migrations, func(o catalog.ActiveMigration) bool {
		return o.Namespace == m.Namespace && (o.From == m.From || o.From == "" || m.From == "")
	})
	if !known {
		a.migrations = append(a.migrations, m)
	}
}

// operation adds what an operation of a shard belongs to.
func (a *activity) operation(op bson.Raw, now time.Time) {
	if strings.HasPrefix(text(op, "desc"), "ReshardingMetrics") {
		a.resharding(op, now)
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
	a.migration(m)
}

// resharding adds a resharding, or what another participant tells of one: the
// coordinator knows the state, recipients know how much they have copied.
func (a *activity) resharding(op bson.Raw, now time.Time) {
	of := a.of(text(op, "ns"))
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
	of.CopiedBytes += integer(op, "bytesCopied") // each recipient has its own part
	of.TotalBytes += integer(op, "approxBytesToCopy")
}

// reshardingEntry adds what config.reshardingOperations tells (rules/03-catalog-and-keys §3.11).
// Those that are over stay for a while.
func (a *activity) reshardingEntry(doc bson.Raw) {
	state := text(doc, "state")
	if state == "quiesced" || state == "done" {
		return
	}
	of := a.of(text(doc, "ns"))
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

// of returns the resharding of a collection; one that does not say what it is
// for is a reshardCollection, as all were before 8.0.
func (a *activity) of(ns string) *catalog.ActiveResharding {
	i := slices.IndexFunc(a.reshardings, func(o catalog.ActiveResharding) bool { return o.Namespace == ns })
	if i < 0 {
		i = len(a.reshardings)
		a.reshardings = append(a.reshardings, catalog.ActiveResharding{Namespace: ns, Kind: "reshardCollection"})
	}
	return &a.reshardings[i]
}

// The readers below give the zero value for what is missing, or of another type.

func document(doc bson.Raw, path ...string) bson.Raw {
	d, _ := doc.Lookup(path...).DocumentOK()
	return d
}

func date(doc bson.Raw, path ...string) time.Time {
	ms, ok := doc.Lookup(path...).DateTimeOK()
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func seconds(doc bson.Raw, path ...string) time.Duration {
	n, _ := doc.Lookup(path...).AsFloat64OK()
	return time.Duration(n * float64(time.Second))
}
