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

// lookBack is how far back outcomes of migrations are looked at.
const lookBack = 24 * time.Hour

// failedRounds is what is shown of the newest rounds that failed.
type failedRounds struct {
	count         int
	message, when goja.Value // undefined when nothing failed
}

func (s *Host) failedRounds(seen *overview) failedRounds {
	of := diagnosis.RoundsOf(seen.Snapshot)
	if of.Newest == nil {
		return failedRounds{message: goja.Undefined(), when: goja.Undefined()}
	}
	return failedRounds{of.Failed, s.lookup(of.Newest.Raw, "details", "errmsg"), s.lookup(of.Newest.Raw, "time")}
}

// lookup returns a field of a document as a value; undefined when it is
// missing.
func (s *Host) lookup(doc bson.Raw, path ...string) goja.Value {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return goja.Undefined()
	}
	return s.JS.Values.ToJS(v)
}

// outcomes returns how migrations have ended.
func outcomes(seen *overview) []catalog.Outcome {
	return diagnosis.OutcomesSince(seen.Snapshot, seen.Time().Add(-lookBack))
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
	return s.JS.GoValue(t)
}

// listedMigrations returns the migrations in progress as mongosh lists them: with every
// lock in config.locks, such as the one that config servers up to 5.0 hold for good.
func listedMigrations(seen *overview) []catalog.ActiveMigration {
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
