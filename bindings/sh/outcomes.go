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

// outcomesSpan is the time span of shown migration outcomes.
const outcomesSpan = 24 * time.Hour

// failedRounds has the number of failed rounds, and the error and time of the newest.
type failedRounds struct {
	count         int
	message, when goja.Value // undefined when nothing failed
}

func (s *Host) failedRounds(seen *clusterView) failedRounds {
	of := diagnosis.RoundsOf(seen.Snapshot)
	if of.NewestFailed == nil {
		return failedRounds{message: goja.Undefined(), when: goja.Undefined()}
	}
	return failedRounds{
		of.Failed,
		s.fieldValue(of.NewestFailed.Raw, "details", "errmsg"),
		s.fieldValue(of.NewestFailed.Raw, "time"),
	}
}

// fieldValue returns a field of a document as a value; undefined when it is
// missing.
func (s *Host) fieldValue(doc bson.Raw, path ...string) goja.Value {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return goja.Undefined()
	}
	return s.JS.Values.ToJS(v)
}

// recentOutcomes returns how migrations have ended.
func recentOutcomes(seen *clusterView) []catalog.Outcome {
	return diagnosis.OutcomesSince(seen.Snapshot, seen.Time().Add(-outcomesSpan))
}

// outcomeText returns how migrations ended, as mongosh has it.
func outcomeText(o catalog.Outcome) string {
	if o.Error == "" {
		return "Success"
	}
	return fmt.Sprintf("Failed with error '%s'", o.Error)
}

// outcomeLine is outcomeText with the shards, where they are listed separately.
func outcomeLine(o catalog.Outcome) string {
	if o.From == "" {
		return outcomeText(o)
	}
	return fmt.Sprintf("%s, from %s to %s", outcomeText(o), o.From, o.To)
}

// migrationText returns a migration as sh.status() lists it.
func migrationText(m catalog.ActiveMigration) string {
	if m.Since.IsZero() {
		return m.Namespace
	}
	return m.Namespace + " started at " + m.Since.Format("Mon Jan 02 2006 15:04:05 GMT-0700 (MST)")
}

// timeOrNull returns a moment, or null when it is unknown.
func (s *Host) timeOrNull(t time.Time) goja.Value {
	if t.IsZero() {
		return goja.Null()
	}
	return s.JS.FromGo(t)
}

// listedMigrations returns the migrations in progress as mongosh lists them: with every
// lock in config.locks, such as the one that config servers up to 5.0 hold for good.
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
