package live

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// maxRounds and maxMoves are the numbers of the newest log entries that the parts Rounds and RecentMoves
// read.
const (
	maxRounds = 5
	maxMoves  = 20
)

// logReading reads config.changelog and config.actionlog.
type logReading struct{ *reading }

// readLogs reads the last day of config.changelog and config.actionlog.
func (r logReading) readLogs(ctx context.Context) error {
	var old catalog.SnapshotParts
	if r.old != nil {
		old = r.old.Parts()
	}
	for _, log := range []struct {
		name string
		old  []catalog.LogEntry
		to   *[]catalog.LogEntry
	}{
		{"changelog", old.Changes, &r.parts.Changes},
		{"actionlog", old.Actions, &r.parts.Actions},
	} {
		entries, err := r.readLog(ctx, log.name, log.old)
		if err := r.gapOrError(ctx, ConfigLogs, catalog.Gap{What: log.name}, err); err != nil {
			return err
		}
		*log.to = entries
	}
	return nil
}

// readLog returns the entries of the older Snapshot that are still recent, followed by newer entries,
// which it reads. Entries that can have been written later with an older time are read again. Logs have
// no index on the time, so the newest entries are read first, up to a limit.
func (r logReading) readLog(ctx context.Context, name string, old []catalog.LogEntry) ([]catalog.LogEntry, error) {
	since := r.parts.Time.Add(-catalog.LogSpan)
	old = slices.Clone(old)
	old = slices.DeleteFunc(old, func(e catalog.LogEntry) bool { return !e.Time.After(since) })
	from := since
	if len(old) > 0 {
		if late := old[len(old)-1].Time.Add(-catalog.MaxLogLateness); late.After(from) {
			from = late
		}
		old = slices.DeleteFunc(old, func(e catalog.LogEntry) bool { return e.Time.After(from) })
	}
	most := r.options.MaxLogEntries
	docs, err := r.source.list(ctx, findQuery(name, bson.D{{Key: "time", Value: bson.D{{Key: "$gt", Value: from}}}}).
		sortedBy("$natural", -1).withLimit(int32(most)+1))
	if err != nil {
		return nil, err
	}
	if len(docs) > most {
		docs, old = docs[:most], nil
		r.addGap(catalog.Gap{What: name}, fmt.Errorf("there are more than %d entries: older ones are missing", most))
	}
	entries := make([]catalog.LogEntry, len(docs))
	for i, doc := range docs {
		entries[len(docs)-1-i] = catalog.ParseLogEntry(doc)
	}
	return append(old, entries...), nil
}

// readRounds reads the newest rounds of the balancer.
func (r logReading) readRounds(ctx context.Context) error {
	docs, err := r.source.list(ctx, findQuery("actionlog", bson.D{{Key: "what", Value: "balancer.round"}}).
		sortedBy("$natural", -1).withLimit(maxRounds)) // there is no index on the time
	for _, doc := range slices.Backward(docs) { // keeps the order of entries with equal times
		r.parts.Actions = append(r.parts.Actions, catalog.ParseLogEntry(doc))
	}
	return err
}

// balancerStartEntry and balancerStopEntry are the names in the action log of the commands that switch
// the balancer.
const (
	balancerStartEntry = "balancer.start"
	balancerStopEntry  = "balancer.stop"
)

// readLastSwitch determines when the balancer was last switched on or off, from the entries that were
// read, or from an older entry.
func (r logReading) readLastSwitch(ctx context.Context) error {
	for _, e := range slices.Backward(r.parts.Actions) {
		if e.What == balancerStartEntry || e.What == balancerStopEntry {
			r.parts.Balancer.Switched = parseSwitch(e)
			return nil
		}
	}
	if slices.ContainsFunc(r.gaps, func(g catalog.Gap) bool { return g.What == "actionlog" }) {
		return nil
	}
	docs, err := r.source.list(ctx, findQuery("actionlog",
		bson.D{{Key: "what", Value: bson.D{{Key: "$in", Value: bson.A{balancerStartEntry, balancerStopEntry}}}}}).
		sortedBy("$natural", -1).
		withLimit(1))
	if err == nil && len(docs) > 0 {
		r.parts.Balancer.Switched = parseSwitch(catalog.ParseLogEntry(docs[0]))
	}
	return err
}

func parseSwitch(e catalog.LogEntry) *catalog.Switch {
	return &catalog.Switch{Time: e.Time, On: e.What == balancerStartEntry, Client: text(e.Raw, "clientAddr")}
}

// readMoves reads the newest entries that donors wrote at the end of migrations, and the entries of the
// commits, which contain the copied amounts.
func (r logReading) readMoves(ctx context.Context) error {
	what := bson.D{{Key: "$in", Value: bson.A{catalog.MigrationEnded, catalog.MigrationCommitted}}}
	docs, err := r.source.list(ctx,
		findQuery("changelog", bson.D{{Key: "what", Value: what}}).sortedBy("$natural", -1).withLimit(2*maxMoves))
	for _, doc := range slices.Backward(docs) {
		r.parts.Changes = append(r.parts.Changes, catalog.ParseLogEntry(doc))
	}
	return err
}

// countOutcomes counts the outcomes of migrations in the change log on the server
// (rules/03-helpers-examples-traps §6.1, rows 12 and 13).
func (r logReading) countOutcomes(ctx context.Context) error {
	since := r.parts.Time.Add(-r.options.OutcomeSpan)
	of := bson.D{
		{Key: "time", Value: bson.D{{Key: "$gt", Value: since}}}, {Key: "what", Value: catalog.MigrationEnded},
	}
	exists := func(yes bool) bson.D { return bson.D{{Key: "$exists", Value: yes}} }
	count := bson.E{Key: "count", Value: bson.D{{Key: "$sum", Value: int32(1)}}}
	good, err := r.source.list(ctx, query{collection: "changelog", pipeline: []bson.D{
		{{Key: "$match", Value: append(of[:2:2],
			bson.E{Key: "details.errmsg", Value: exists(false)}, bson.E{Key: "details.note", Value: "success"})}},
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, count}}},
	}})
	if err != nil {
		return err
	}
	failed := bson.A{
		bson.D{{Key: "details.errmsg", Value: exists(true)}},
		bson.D{{Key: "details.note", Value: bson.D{{Key: "$ne", Value: "success"}}}},
	}
	bad, err := r.source.list(ctx, query{collection: "changelog", pipeline: []bson.D{
		{{Key: "$match", Value: append(of[:2:2], bson.E{Key: "$or", Value: failed})}},
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: bson.D{
				{Key: "msg", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$details.errmsg", "aborted"}}}},
				{Key: "from", Value: "$details.from"}, {Key: "to", Value: "$details.to"},
			}}, count,
		}}},
	}})
	if err != nil {
		return err
	}
	r.parts.Outcomes = &catalog.MigrationOutcomes{Since: since}
	for _, doc := range slices.Concat(good, bad) {
		r.parts.Outcomes.Counts = append(r.parts.Outcomes.Counts, catalog.MigrationOutcome{
			Error: text(doc, "_id", "msg"), From: catalog.ShardID(text(doc, "_id", "from")),
			To: catalog.ShardID(text(doc, "_id", "to")), Count: integer(doc, "count"),
		})
	}
	return nil
}
