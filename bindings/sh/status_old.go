package sh

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// PrintStatus implements printShardingStatus. It returns the same as sh.status(). With Compat, it
// prints the old shell's text and returns nil (rules/04-outputs-and-traps §7.4).
func (h *Host) PrintStatus(d, config *server.Database, o StatusOptions) goja.Value {
	if !h.Compat {
		return h.shardingStatus(d, config, o)
	}
	h.JS.Out.Write(h.oldStatusText(d, config, o))
	return nil
}

// StatusArgument returns the status options in an argument.
func (h *Host) StatusArgument(c *script.Call, i int) StatusOptions {
	return (&call{c, h}).statusOptions(i)
}

// oldStatus writes lines with the old shell's indentation.
type oldStatus struct{ b strings.Builder }

func (o *oldStatus) writeLine(indent int, format string, args ...any) {
	o.b.WriteString(strings.Repeat(" ", indent) + fmt.Sprintf(format, args...) + "\n")
}

func (h *Host) oldStatusText(d, config *server.Database, o StatusOptions) string {
	w := &oldStatus{}
	version := config.FindOne("version", bson.D{})
	if version == nil {
		return "printShardingStatus: this db does not have sharding enabled. be sure you are connecting to a mongos from " +
			"the shell and not to a mongod.\n"
	}
	r := h.readStatusReport(d, config, statusParts&^live.Sizes)
	r.verbose = o.Verbose
	w.writeLine(0, "--- Sharding Status --- ")
	w.writeLine(2, "sharding version: %s",
		strings.ReplaceAll(display.OldJSON(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: version}, "", false), "\n",
			"\n  "))
	w.writeLine(2, "shards:")
	for _, doc := range r.documents("shards") {
		w.writeLine(8, "%s", oldListText(doc))
	}
	r.writeOldMongoses(w)
	w.writeLine(2, "autosplit:")
	w.writeLine(8, "Currently enabled: %s", yesNo(r.isAutoSplitEnabled()))
	r.writeOldBalancer(w)
	r.writeOldDatabases(w)
	return w.b.String()
}

func (r *statusReport) isAutoSplitEnabled() bool {
	doc := r.setting("autosplit")
	return doc == nil || rawdoc.IsFieldTruthy(doc, "enabled")
}

// oldListText formats a document with the spaces of the old shell's lists: two around the fields.
func oldListText(doc bson.Raw) string {
	elems, _ := doc.Elements()
	parts := make([]string, len(elems))
	for i, el := range elems {
		parts[i] = humanize.TextLiteral(el.Key()) + " : " + display.OldJSON(el.Value(), "", true)
	}
	return "{  " + strings.Join(parts, ",  ") + " }"
}

func (r *statusReport) writeOldMongoses(w *oldStatus) {
	name, recent, newest := r.recentMongoses()
	w.writeLine(2, "%s:", name)
	switch {
	case newest == nil:
		w.writeLine(8, "none")
	case r.verbose:
		for _, doc := range r.config.FindAll("mongos", recent, server.SortField("ping", -1)) {
			w.writeLine(8, "%s", display.OldJSON(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc}, "", true))
		}
	default:
		for _, g := range r.mongosVersions(recent) {
			w.writeLine(8, "%s : %d", display.OldJSON(g.Lookup("_id"), "", true), rawdoc.Int(g, "num"))
		}
	}
}

func (r *statusReport) writeOldBalancer(w *oldStatus) {
	s := r.host
	settings := r.setting("balancer")
	w.writeLine(2, "balancer:")
	w.writeLine(8, "Currently enabled:  %s", yesNo(settings == nil || !rawdoc.IsFieldTruthy(settings, "stopped")))
	w.writeLine(8, "Currently running:  %s", r.runningText())
	if window, ok := settings.Lookup("activeWindow").DocumentOK(); ok {
		w.writeLine(8, "Balancer active window is set between %s and %s server local time",
			s.plainText(window.Lookup("start")), s.plainText(window.Lookup("stop")))
	}
	if active := listedMigrations(r.cluster); len(active) > 0 {
		w.writeLine(8, "Collections with active migrations: ")
		for _, m := range active {
			w.writeLine(16, "%s", migrationText(m))
		}
	}
	failed := s.failedRounds(r.cluster)
	w.writeLine(8, "Failed balancer rounds in last 5 attempts:  %d", failed.count)
	if failed.count > 0 {
		w.writeLine(8, "Last reported error:  %s", script.OptionalText(failed.message))
		w.writeLine(8, "Time of Reported error:  %s", script.OptionalText(failed.when))
	}
	w.writeLine(8, "Migration Results for the last 24 hours: ")
	results := recentOutcomes(r.cluster)
	for _, m := range results {
		w.writeLine(16, "%d : %s", m.Count, outcomeLine(m))
	}
	if len(results) == 0 {
		w.writeLine(16, "No recent migrations")
	}
}

func (r *statusReport) writeOldDatabases(w *oldStatus) {
	entries := r.shardedEntries()
	databases := append(slices.Clone(r.documents("databases")), configEntry())
	slices.SortFunc(databases, func(a, b bson.Raw) int {
		return plaintext.CompareNames(rawdoc.Text(a, "_id"), rawdoc.Text(b, "_id"))
	})
	w.writeLine(2, "databases:")
	for _, doc := range databases {
		w.writeLine(8, "%s", oldListText(doc))
		for _, entry := range entries {
			if strings.HasPrefix(rawdoc.Text(entry, "_id"), rawdoc.Text(doc, "_id")+".") {
				r.writeOldCollection(w, entry)
			}
		}
	}
}

func (r *statusReport) writeOldCollection(w *oldStatus, entry bson.Raw) {
	c := r.collectionOf(entry)
	w.writeLine(16, "%s", rawdoc.Text(entry, "_id"))
	w.writeLine(24, "shard key: %s", display.OldJSON(entry.Lookup("key"), "", true))
	w.writeLine(24, "unique: %t", rawdoc.IsFieldTruthy(entry, "unique"))
	w.writeLine(24, "balancing: %t", !rawdoc.IsFieldTruthy(entry, "noBalance"))
	w.writeLine(24, "chunks:")
	for _, id := range c.Owners() {
		w.writeLine(32, "%s\t%d", id, c.CountOn(id).Chunks)
	}
	if c.Count().Chunks > maxStatusChunks && !r.verbose {
		w.writeLine(24, tooManyText, "chunks")
	} else {
		for _, doc := range r.entriesOf("chunks", c.Namespace) {
			w.writeLine(24, "%s", oldChunkText(doc))
		}
	}
	for _, doc := range r.entriesOf("tags", c.Namespace) {
		w.writeLine(24, " tag: %s  %s -->> %s", rawdoc.Text(doc, "tag"), display.OldJSON(doc.Lookup("min"), "", true),
			display.OldJSON(doc.Lookup("max"), "", true))
	}
}

func oldChunkText(doc bson.Raw) string {
	t, i, _ := doc.Lookup("lastmod").TimestampOK()
	text := fmt.Sprintf("%s -->> %s on : %s Timestamp(%d, %d) ", display.OldJSON(doc.Lookup("min"), "", true),
		display.OldJSON(doc.Lookup("max"), "", true), rawdoc.Text(doc, "shard"), t, i)
	if rawdoc.IsFieldTruthy(doc, "jumbo") {
		text += "jumbo "
	}
	return text
}
