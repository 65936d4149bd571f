package sh

import (
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/bindings/rawdoc"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// outcomesSpan is the period of the migration outcomes that are shown.
const outcomesSpan = 24 * time.Hour

// failedRounds holds the number of failed rounds, and the error and time of the newest one.
type failedRounds struct {
	count         int
	message, when goja.Value // undefined if no round failed
}

func (h *Host) failedRounds(seen *clusterView) failedRounds {
	of := diagnosis.RoundsOf(seen.Snapshot)
	if of.NewestFailed == nil {
		return failedRounds{message: goja.Undefined(), when: goja.Undefined()}
	}
	return failedRounds{
		of.Failed,
		h.fieldValue(of.NewestFailed.Raw, "details", "errmsg"),
		h.fieldValue(of.NewestFailed.Raw, "time"),
	}
}

// fieldValue returns a field of a document as a JavaScript value; undefined if it is missing.
func (h *Host) fieldValue(doc bson.Raw, path ...string) goja.Value {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return goja.Undefined()
	}
	return h.JS.Values.ToJS(v)
}

// recentOutcomes returns the outcomes of recent migrations.
func recentOutcomes(seen *clusterView) []catalog.MigrationOutcome {
	return diagnosis.OutcomesSince(seen.Snapshot, seen.Time().Add(-outcomesSpan))
}

// outcomeText describes an outcome in the words of mongosh.
func outcomeText(o catalog.MigrationOutcome) string {
	if o.Error == "" {
		return "Success"
	}
	return fmt.Sprintf("Failed with error '%s'", o.Error)
}

// outcomeLine returns outcomeText, followed by the two shards if the outcome is counted by shards.
func outcomeLine(o catalog.MigrationOutcome) string {
	if o.From == "" {
		return outcomeText(o)
	}
	return fmt.Sprintf("%s, from %s to %s", outcomeText(o), o.From, o.To)
}

// migrationText describes a migration in sh.status().
func migrationText(m catalog.ActiveMigration) string {
	if m.Since.IsZero() {
		return m.Namespace
	}
	return m.Namespace + " started at " + m.Since.Format("Mon Jan 02 2006 15:04:05 GMT-0700 (MST)")
}

// timeOrNull returns a time, or null if it is unknown.
func (h *Host) timeOrNull(t time.Time) goja.Value {
	if t.IsZero() {
		return goja.Null()
	}
	return h.JS.FromGo(t)
}

// listedMigrations returns the migrations in progress as mongosh lists them: these include every lock
// in config.locks, such as the one that config servers up to 5.0 hold permanently.
func listedMigrations(seen *clusterView) []catalog.ActiveMigration {
	list := seen.Parts().Migrations
	list = list[:len(list):len(list)]
	for _, lock := range seen.raw["locks"] {
		ns := rawdoc.Text(lock, "_id")
		if !slices.ContainsFunc(list, func(m catalog.ActiveMigration) bool { return m.Namespace == ns }) {
			when, _ := lock.Lookup("when").TimeOK()
			list = append(list, catalog.ActiveMigration{Namespace: ns, Since: when})
		}
	}
	return list
}
