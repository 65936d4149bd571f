package sh

import (
	"fmt"
	"strconv"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxStatusCollections is how many collections the tables of sh.status() tell
// about: each costs a command.
const maxStatusCollections = 50

// draw shows the report as tables: at most one screen a collection.
func (r *statusReport) draw(t *display.Tables) {
	r.balancerLines(t)
	t.Heading("Shards")
	t.Grid(r.shardRows())
	r.databaseLines(t)
	entries := r.entries()
	shown := entries[:min(len(entries), maxStatusCollections)]
	names := make([]string, len(shown))
	for i, entry := range shown {
		names[i] = rawdoc.Text(entry, "_id")
	}
	if len(names) > 0 {
		asked := r.s.look(r.d, r.config, live.Look{
			Parts: live.Shards | live.Zones | live.Statuses, Namespaces: names, Lenient: true,
		})
		for _, entry := range shown {
			r.collectionTable(t, entry, asked)
		}
	}
	if more := len(entries) - len(shown); more > 0 {
		t.Heading(fmt.Sprintf("… and %d more collections", more))
	}
}

func (r *statusReport) balancerLines(t *display.Tables) {
	s := r.s
	t.Heading("Balancer")
	t.Line("mode", r.modeText())
	t.Line("policy", r.sh().policyText())
	t.Line("window", windowText(r.setting("balancer")))
	t.Line("chunk size", megabytes(r.sh().chunkSize(nil, r.setting("chunksize"))))
	if automerge := r.setting("automerge"); automerge != nil {
		t.Line("auto-merger", onOff(rawdoc.TruthyAt(automerge, "enabled")))
	}
	failed := s.failedRounds(r.seen)
	t.Line("failed rounds", fmt.Sprintf("%d of the last 5", failed.count))
	if failed.count > 0 {
		t.Line("last error", fmt.Sprintf("%s (%s)", script.OptionalText(failed.message), s.Display.Inspect(failed.when)))
	}
	r.migrationLines(t)
}

func (r *statusReport) migrationLines(t *display.Tables) {
	active := r.seen.Parts().Migrations
	if len(active) == 0 {
		t.Line("moving now", "nothing")
	}
	for _, m := range active {
		text := m.Namespace
		if m.From != "" {
			text += fmt.Sprintf(" from %s to %s", m.From, m.To)
		}
		if !m.Since.IsZero() {
			text += ", for " + display.DurationText(r.s.JS.Clock.Now().Sub(m.Since))
		}
		t.Line("moving now", text)
	}
	results := outcomes(r.seen)
	if len(results) == 0 {
		t.Line("last 24 hours", "no migrations")
		return
	}
	t.Heading("Migrations of the last 24 hours")
	var rows [][]string
	for _, m := range results {
		rows = append(rows, []string{outcomeText(m), fmt.Sprint(m.Count), string(m.From), string(m.To)})
	}
	t.Grid([]string{"result", "count#", "from", "to"}, rows)
}

func (r *statusReport) sh() *Helpers { return &Helpers{s: r.s, on: r.d} }

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// modeText returns the balancer's mode and whether it works right now.
func (r *statusReport) modeText() string {
	if why := unread(r.seen, "balancer"); why != "" {
		return "unknown: " + why
	}
	b := r.seen.Parts().Balancer
	return fmt.Sprintf("%s, %s (%s so far)", b.Mode, roundText(b), counted(int(b.Rounds), "round"))
}

// shardRows returns the shards with their data and chunks. The data is that of
// sharded collections, orphans included; servers before 6.0.3 do not tell it.
func (r *statusReport) shardRows() (header []string, rows [][]string) {
	chunks, data := map[catalog.ShardID]int64{}, map[catalog.ShardID]int64{}
	for _, c := range r.seen.Collections() {
		for _, id := range c.Owners() {
			chunks[id] += c.CountOn(id).Chunks
		}
		for id, d := range c.Sizes {
			data[id] += d.Bytes + d.OrphanBytes
		}
	}
	for _, shard := range r.seen.Shards() {
		size, state := "?", ""
		if r.seen.Distribution != nil {
			size = plaintext.SizeText(float64(data[shard.ID]))
		}
		if shard.Draining {
			state = "draining"
		}
		rows = append(rows, []string{
			string(shard.ID), size, fmt.Sprint(chunks[shard.ID]), state, strings.Join(shard.Zones, " "), shard.Host,
		})
	}
	return []string{"shard", "sharded data#", "chunks#", "state", "zones", "host"}, rows
}

func (r *statusReport) databaseLines(t *display.Tables) {
	t.Heading("Databases")
	sharded := map[string]int{}
	for _, entry := range r.entries() {
		name, _, _ := strings.Cut(rawdoc.Text(entry, "_id"), ".")
		sharded[name]++
	}
	primaries := r.documents("databases")
	for _, doc := range primaries {
		name := rawdoc.Text(doc, "_id")
		n := "no sharded collections"
		if sharded[name] > 0 {
			n = counted(sharded[name], "sharded collection")
		}
		t.Line(display.Clip(name, display.LabelWidth-3), fmt.Sprintf("primary %s, %s", rawdoc.Text(doc, "primary"), n))
	}
	if len(primaries) == 0 {
		t.Line("none", "")
	}
}

// collectionTable is one collection: what it is, whether it is balanced, and a
// row a shard.
func (r *statusReport) collectionTable(t *display.Tables, entry bson.Raw, asked *live.Overview) {
	c := *r.collectionOf(entry)
	c.Reported = asked.Collection(c.Namespace).Reported
	t.Heading(c.Namespace)
	key := display.OldJSON(entry.Lookup("key"), "", true)
	if rawdoc.TruthyAt(entry, "unique") {
		key += ", unique"
	}
	t.Line("shard key", key)
	balance := diagnosis.BalanceOf(asked.Snapshot, &c)
	t.Line("balanced", balancedText(balance))
	t.Line("chunk size", r.chunkSizeText(entry, balance.ChunkSizeMB))
	if text := zonesText(diagnosis.Zones(asked.Snapshot, c.Namespace)); text != "" {
		t.Line("zones", text)
	}
	t.Grid(distributionRows(&c))
}

// balancedText returns the answer to whether a collection is balanced.
func balancedText(b diagnosis.Balance) string {
	if !b.Known {
		return "unknown: " + b.Reason
	}
	text := "yes"
	switch {
	case b.Defragmentation.Running:
		text = "NO, it is being defragmented: " + b.Defragmentation.String()
	case !b.Balanced:
		text = "NO, " + b.Violation
	}
	if b.Hold != diagnosis.NotHeld {
		text += "; " + b.Hold.String()
	}
	return text
}

// chunkSizeText returns the size the balancer goes by; servers of old do not
// tell it with the status.
func (r *statusReport) chunkSizeText(entry bson.Raw, size float64) string {
	if size == 0 {
		size = r.sh().chunkSize(entry, r.setting("chunksize"))
	}
	if rawdoc.Number(entry, "maxChunkSizeBytes") > 0 {
		return megabytes(size) + " (its own)"
	}
	return megabytes(size)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// distributionRows returns the shards of a collection, with its data where the
// server tells it.
func distributionRows(c *catalog.CollectionState) (header []string, rows [][]string) {
	for _, id := range c.Owners() {
		n := c.CountOn(id)
		row := []string{string(id), fmt.Sprint(n.Chunks), fmt.Sprint(n.Jumbo), "?", "?", "?"}
		if d, told := c.Sizes[id]; told {
			row = append(row[:3], plaintext.SizeText(float64(d.Bytes)), fmt.Sprint(d.Documents), fmt.Sprint(d.Orphans))
		}
		rows = append(rows, row)
	}
	return []string{"shard", "chunks#", "jumbo#", "data#", "documents#", "orphans#"}, rows
}

// boundAt returns a bound in a document.
func boundAt(doc bson.Raw, field string) string {
	key, _ := doc.Lookup(field).DocumentOK()
	return bound(key)
}

// bound returns a bound of a chunk or of a zone.
func bound(key bson.Raw) string {
	values, _ := key.Values()
	return display.Bound(values)
}
