package sh

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/report"
	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The maximum number of collections for which the tables of sh.status() send a command each, and the
// maximum number of collections with their own table.
const (
	maxStatusCommands = 200
	maxStatusTables   = 10
)

// draw draws the report as tables: the shards with the most data first, and the collections that need
// attention.
func (r *statusReport) draw(t *display.Tables) {
	r.drawBalancer(t)
	t.WriteHeading("Shards")
	r.drawShards(t, "show shards")
	r.drawDatabases(t)
	r.drawCollections(t)
}

// drawShards draws the shards. If there are many, it draws only the first ones; others says where the
// remaining shards are shown.
func (r *statusReport) drawShards(t *display.Tables, others string) {
	known := r.cluster.hasSizes()
	shards := report.ShardsOf(r.cluster.Snapshot, report.CollectionsOf(r.cluster.Snapshot))
	hosts := func(id string) string {
		shard, _ := r.cluster.Shard(catalog.ShardID(id))
		return shard.Host
	}
	header, rows := shardGrid(shards, known, hosts)
	if others == "" {
		t.WriteGrid(header, rows)
	} else {
		t.WriteTopRows(header, rows, countNotable(shards), others)
	}
	if text := spreadText(shards, known); text != "" {
		t.WriteNote(text)
	}
}

// drawCollections draws the unbalanced collections first. If there are many collections, only the
// worst unbalanced ones get tables.
func (r *statusReport) drawCollections(t *display.Tables) {
	sharded := slices.DeleteFunc(report.CollectionsOf(r.cluster.Snapshot), func(c report.Collection) bool {
		return c.Unsplittable
	})
	if len(sharded) == 0 {
		return
	}
	names := make([]string, min(len(sharded), maxStatusCommands)) // sorted by jumbo chunks and size
	for i := range names {
		names[i] = sharded[i].Namespace
	}
	asked := r.host.readCluster(r.d, r.config, live.ReaderOptions{
		Parts: live.Shards | live.Zones | live.BalanceStatuses, Namespaces: names, Required: lenientParts,
	})
	all := r.withReportedBalance(names, asked)
	ranked := report.CollectionsOf(all)
	shown := len(ranked)
	if shown > maxStatusTables {
		shown = min(maxStatusTables, len(ranked)-len(balancedCollections(ranked)))
	}
	for _, c := range ranked[:shown] {
		r.drawCollection(t, c.Namespace, asked)
	}
	drawOtherCollections(t, all, ranked[shown:])
	if more := len(sharded) - len(names); more > 0 {
		t.WriteHeading("And " + humanize.Count(more, "smaller collection") + " not checked; sh.balancerSummary() checks all")
	}
}

// withReportedBalance returns a Snapshot of the given collections, with the balance that the server
// reported.
func (r *statusReport) withReportedBalance(names []string, asked *clusterView) *catalog.Snapshot {
	all := asked.Snapshot
	for _, ns := range names {
		c := *r.cluster.Collection(ns)
		c.ReportedStatus = asked.Collection(ns).ReportedStatus
		all = all.WithCollection(&c)
	}
	return all
}

// drawOtherCollections draws a row for each unbalanced collection, and a line for all balanced ones.
func drawOtherCollections(t *display.Tables, s *catalog.Snapshot, list []report.Collection) {
	fine := balancedCollections(list)
	if len(list) > len(fine) {
		t.WriteHeading("Other collections")
		t.WriteGrid(collectionGrid(list[:len(list)-len(fine)], s))
	}
	if len(fine) > 0 {
		t.WriteHeading("And " + balancedSummaryText(fine))
	}
}

func (r *statusReport) drawBalancer(t *display.Tables) {
	s := r.host
	t.WriteHeading("Balancer")
	t.WriteLine("mode", r.modeText())
	t.WriteLine("policy", r.sh().balancingRulesText())
	t.WriteLine("window", windowText(r.setting("balancer"), windowClock(r.cluster.Snapshot)))
	t.WriteLine("chunk size", megabytesText(r.sh().chunkSizeMiB(nil, r.setting("chunksize"))))
	if automerge := r.setting("automerge"); automerge != nil {
		t.WriteLine("auto-merger", humanize.OnOff(rawdoc.IsFieldTruthy(automerge, "enabled")))
	}
	failed := s.failedRounds(r.cluster)
	t.WriteLine("failed rounds", fmt.Sprintf("%d of the last 5", failed.count))
	if failed.count > 0 {
		t.WriteLine("last error", fmt.Sprintf("%s (%s)", script.OptionalText(failed.message), s.Display.Inspect(failed.when)))
	}
	r.drawMigrations(t)
	r.drawDrains(t)
}

// drawDrains says what an operator has to do before draining shards are empty.
func (r *statusReport) drawDrains(t *display.Tables) {
	for _, shard := range r.cluster.Shards() {
		if d := diagnosis.DrainOf(r.cluster.Snapshot, shard); shard.Draining && len(d.Commands()) > 0 {
			t.WriteLine("problem", d.OperatorFinding().Text())
		}
	}
}

func (r *statusReport) drawMigrations(t *display.Tables) {
	r.drawActiveOperations(t)
	r.drawOutcomes(t)
}

func (r *statusReport) drawActiveOperations(t *display.Tables) {
	p := r.cluster.Parts()
	if len(p.Migrations)+len(p.Reshardings) == 0 {
		t.WriteLine("moving now", "nothing")
	}
	writeActiveOperations(t, p)
}

func (r *statusReport) drawOutcomes(t *display.Tables) {
	results := recentOutcomes(r.cluster)
	if len(results) == 0 {
		t.WriteLine("last 24 hours", "no migrations")
		return
	}
	t.WriteHeading("Migrations of the last 24 hours")
	var rows [][]string
	for _, m := range results {
		rows = append(rows, []string{outcomeText(m), fmt.Sprint(m.Count), string(m.From), string(m.To)})
	}
	t.WriteGrid([]string{"result", "count#", "from", "to"}, rows)
}

func (r *statusReport) sh() *Helpers { return &Helpers{host: r.host, database: r.d} }

// modeText returns the balancer's mode and whether a round is running.
func (r *statusReport) modeText() string {
	if why := unreadReason(r.cluster, "balancer"); why != "" {
		return "unknown: " + why
	}
	b := r.cluster.Parts().Balancer
	return fmt.Sprintf("%s, %s (%s so far)", b.Mode, roundText(b), humanize.Count(int(b.Rounds), "round"))
}

// drawDatabases draws the databases; if there are many, those with the most sharded collections.
func (r *statusReport) drawDatabases(t *display.Tables) {
	t.WriteHeading("Databases")
	sharded := map[string]int{}
	for _, entry := range r.shardedEntries() {
		name, _, _ := strings.Cut(rawdoc.Text(entry, "_id"), ".")
		sharded[name]++
	}
	primaries := slices.Clone(r.documents("databases"))
	hidden := max(0, len(primaries)-display.MaxRows)
	if hidden > 0 {
		slices.SortStableFunc(primaries, func(a, b bson.Raw) int {
			return cmp.Compare(sharded[rawdoc.Text(b, "_id")], sharded[rawdoc.Text(a, "_id")])
		})
	}
	for _, doc := range primaries[:len(primaries)-hidden] {
		name := rawdoc.Text(doc, "_id")
		n := "no sharded collections"
		if sharded[name] > 0 {
			n = humanize.Count(sharded[name], "sharded collection")
		}
		t.WriteLine(display.Clip(name, display.LabelWidth-3), fmt.Sprintf("primary %s, %s", rawdoc.Text(doc, "primary"), n))
	}
	if len(primaries) == 0 {
		t.WriteLine("none", "")
	}
	if hidden > 0 {
		t.WriteNote(fmt.Sprintf("… and %d more: show dbs", hidden))
	}
}

// drawCollection draws one collection: its properties, its balance, and a row for each shard.
func (r *statusReport) drawCollection(t *display.Tables, ns string, asked *clusterView) {
	entry := configDocument(r.cluster, "collections", ns)
	c := *r.cluster.Collection(ns)
	c.ReportedStatus = asked.Collection(c.Namespace).ReportedStatus
	t.WriteHeading(c.Namespace)
	key := display.OldJSON(entry.Lookup("key"), "", true)
	if rawdoc.IsFieldTruthy(entry, "unique") {
		key += ", unique"
	}
	t.WriteLine("shard key", key)
	balance := diagnosis.BalanceOf(asked.Snapshot, &c)
	t.WriteLine("balanced", balancedText(balance))
	t.WriteLine("chunk size", r.chunkSizeText(entry, balance.ChunkSizeMB))
	if text := zonesText(diagnosis.Zones(asked.Snapshot, c.Namespace)); text != "" {
		t.WriteLine("zones", text)
	}
	header, rows := distributionRows(&c)
	t.WriteTopRows(header, rows, 0, fmt.Sprintf("sh.map(%q)", c.Namespace))
}

// balancedText says whether a collection is balanced.
func balancedText(b diagnosis.Balance) string {
	if !b.Known {
		return "unknown: " + b.Reason
	}
	text := "yes"
	switch {
	case b.Defragmentation.Running:
		text = "NO, being defragmented: " + b.Defragmentation.String()
	case !b.Balanced:
		text = "NO, " + b.Violation
	}
	if b.DisabledBy != diagnosis.NotDisabled {
		text += "; " + b.DisabledBy.String()
	}
	return text
}

// chunkSizeText returns the chunk size that the balancer uses; old servers do not include it in the
// status.
func (r *statusReport) chunkSizeText(entry bson.Raw, size float64) string {
	if size == 0 {
		size = r.sh().chunkSizeMiB(entry, r.setting("chunksize"))
	}
	if rawdoc.Number(entry, "maxChunkSizeBytes") > 0 {
		return megabytesText(size) + " (set for this collection)"
	}
	return megabytesText(size)
}

// distributionRows returns the shards of a collection, with their data if the server reports it. If
// they exceed a screen, the rows are sorted by data, the most first.
func distributionRows(c *catalog.CollectionState) (header []string, rows [][]string) {
	owners := c.Owners()
	if len(owners) > display.MaxRows {
		slices.SortStableFunc(owners, func(a, b catalog.ShardID) int {
			return cmp.Or(cmp.Compare(c.Sizes[b].Bytes, c.Sizes[a].Bytes), cmp.Compare(c.CountOn(b).Chunks, c.CountOn(a).Chunks))
		})
	}
	for _, id := range owners {
		n := c.CountOn(id)
		row := []string{string(id), fmt.Sprint(n.Chunks), fmt.Sprint(n.Jumbo), "?", "?", "?"}
		if d, told := c.Sizes[id]; told {
			row = append(row[:3], humanize.Bytes(d.Bytes), fmt.Sprint(d.Documents), fmt.Sprint(d.Orphans))
		}
		rows = append(rows, row)
	}
	return []string{"shard", "chunks#", "jumbo#", "data#", "documents#", "orphans#"}, rows
}

// boundTextAt formats a bound in a document.
func boundTextAt(doc bson.Raw, field string) string {
	key, _ := doc.Lookup(field).DocumentOK()
	return boundText(key)
}

// boundText formats a bound of a chunk or of a zone.
func boundText(key bson.Raw) string {
	values, _ := key.Values()
	return display.BoundText(values)
}
