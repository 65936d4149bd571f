package sh

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxStatusCollections is how many collections the tables of sh.status() tell
// about: each costs a command.
const maxStatusCollections = 50

// draw shows the report as tables: at most one screen a collection.
func (r *statusReport) draw(t *display.Tables) {
	r.balancerLines(t)
	t.Heading("Shards")
	t.Grid(r.shardRows(r.config.FindAll("shards", bson.D{}, server.SortedBy("_id", 1))))
	r.databaseLines(t)
	zones := r.s.zones(r.config, "")
	shown := r.entries[:min(len(r.entries), maxStatusCollections)]
	for _, entry := range shown {
		r.collectionTable(t, entry, zones)
	}
	if more := len(r.entries) - len(shown); more > 0 {
		t.Heading(fmt.Sprintf("… and %d more collections", more))
	}
}

func (r *statusReport) balancerLines(t *display.Tables) {
	s := r.s
	settings := s.setting(r.config, "balancer")
	t.Heading("Balancer")
	t.Line("mode", r.modeText())
	t.Line("policy", r.sh().policyText())
	t.Line("window", windowText(settings))
	t.Line("chunk size", megabytes(r.sh().chunkSize(nil)))
	if automerge := s.setting(r.config, "automerge"); automerge != nil {
		t.Line("auto-merger", onOff(rawdoc.TruthyAt(automerge, "enabled")))
	}
	failed := s.failedRounds(r.config)
	t.Line("failed rounds", fmt.Sprintf("%d of the last 5", failed.count))
	if failed.count > 0 {
		t.Line("last error", fmt.Sprintf("%s (%s)", script.OptionalText(failed.message), s.Display.Inspect(failed.when)))
	}
	r.migrationLines(t)
}

func (r *statusReport) migrationLines(t *display.Tables) {
	active := slices.DeleteFunc(r.s.activeMigrations(r.d, r.config), func(m activeMigration) bool {
		return m.ns == "balancer" // the lock that config servers up to 5.0 hold for good
	})
	if len(active) == 0 {
		t.Line("moving now", "nothing")
	}
	for _, m := range active {
		text := m.ns
		if m.from != "" {
			text += fmt.Sprintf(" from %s to %s", m.from, m.to)
		}
		if !m.when.IsZero() {
			text += ", for " + display.DurationText(r.s.JS.Clock.Now().Sub(m.when))
		}
		t.Line("moving now", text)
	}
	results := r.s.recentMigrations(r.config, r.now)
	if len(results) == 0 {
		t.Line("last 24 hours", "no migrations")
		return
	}
	t.Heading("Migrations of the last 24 hours")
	var rows [][]string
	for _, m := range results {
		rows = append(rows, []string{m.result, plaintext.PlainNumber(m.count), m.from, m.to})
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

// modeText is the balancer's mode and whether it works right now.
func (r *statusReport) modeText() string {
	reply, err := r.s.Gateway.Send(r.d.Sibling("admin").Request(server.Command("balancerStatus"), server.Reads))
	if err != nil {
		return "unknown: " + err.Error()
	}
	round := "not in a round"
	if rawdoc.TruthyAt(reply, "inBalancerRound") {
		round = "in a round"
	}
	return fmt.Sprintf("%s, %s (%s so far)", rawdoc.Text(reply, "mode"), round, counted(int(rawdoc.Int(reply, "numBalancerRounds")), "round"))
}

// shardRows are the shards with their data and chunks. The data is that of
// sharded collections, orphans included; servers before 6.0.3 do not tell it.
func (r *statusReport) shardRows(shards []bson.Raw) (header []string, rows [][]string) {
	data := map[string]float64{}
	for _, coll := range r.distribution {
		for _, d := range documentsAt(coll, "shards") {
			data[rawdoc.Text(d, "shardName")] += rawdoc.Number(d, "ownedSizeBytes") + rawdoc.Number(d, "orphanedSizeBytes")
		}
	}
	chunks := map[string]int64{}
	for _, list := range r.counts {
		for _, c := range list {
			chunks[c.shard] += c.n
		}
	}
	for _, doc := range shards {
		id, size, state := rawdoc.Text(doc, "_id"), "?", ""
		if r.distribution != nil {
			size = plaintext.SizeText(data[id])
		}
		if rawdoc.TruthyAt(doc, "draining") {
			state = "draining"
		}
		rows = append(rows, []string{id, size, fmt.Sprint(chunks[id]), state, strings.Join(stringsAt(doc, "tags"), " "), rawdoc.Text(doc, "host")})
	}
	return []string{"shard", "sharded data#", "chunks#", "state", "zones", "host"}, rows
}

func (r *statusReport) databaseLines(t *display.Tables) {
	t.Heading("Databases")
	sharded := map[string]int{}
	for _, entry := range r.entries {
		name, _, _ := strings.Cut(rawdoc.Text(entry, "_id"), ".")
		sharded[name]++
	}
	for _, doc := range r.primaries {
		name := rawdoc.Text(doc, "_id")
		n := "no sharded collections"
		if sharded[name] > 0 {
			n = counted(sharded[name], "sharded collection")
		}
		t.Line(display.Clip(name, display.LabelWidth-3), fmt.Sprintf("primary %s, %s", rawdoc.Text(doc, "primary"), n))
	}
	if len(r.primaries) == 0 {
		t.Line("none", "")
	}
}

// collectionTable is one collection: what it is, whether it is balanced, and a
// row a shard.
func (r *statusReport) collectionTable(t *display.Tables, entry bson.Raw, zones []zoneLayout) {
	ns := rawdoc.Text(entry, "_id")
	t.Heading(ns)
	key := display.OldJSON(entry.Lookup("key"), "", true)
	if rawdoc.TruthyAt(entry, "unique") {
		key += ", unique"
	}
	t.Line("shard key", key)
	status, err := r.s.Gateway.Send(r.d.Sibling("admin").Request(bson.D{{Key: "balancerCollectionStatus", Value: ns}}, server.Reads))
	if err != nil {
		t.Line("balanced", "unknown: "+err.Error())
	} else {
		t.Line("balanced", balancedText(entry, status))
	}
	t.Line("chunk size", r.chunkSizeText(entry, status))
	if text := zonesText(ns, zones); text != "" {
		t.Line("zones", text)
	}
	t.Grid(r.distributionRows(ns, r.counts[chunkKey(entry)]))
}

// balancedText is the answer to whether a collection is balanced.
func balancedText(entry, status bson.Raw) string {
	text := "yes"
	switch {
	case rawdoc.Text(status, "firstComplianceViolation") == "defragmentingChunks":
		text = "NO, it is being defragmented: " + defragmentationOf(status).text()
	case !rawdoc.TruthyAt(status, "balancerCompliant"):
		text = "NO, " + rawdoc.Text(status, "firstComplianceViolation")
	}
	if reason := leftAlone(entry); reason != "" {
		text += "; " + reason
	}
	return text
}

// chunkSizeText is the size the balancer goes by; servers of old do not tell it
// with the status.
func (r *statusReport) chunkSizeText(entry, status bson.Raw) string {
	size := rawdoc.Number(status, "chunkSize")
	if size == 0 {
		size = r.sh().chunkSize(entry)
	}
	if rawdoc.Number(entry, "maxChunkSizeBytes") > 0 {
		return megabytes(size) + " (its own)"
	}
	return megabytes(size)
}

// zonesText names the zones of a collection with the number of their ranges.
func zonesText(ns string, zones []zoneLayout) string {
	var parts []string
	for _, z := range zones {
		n := 0
		for _, doc := range z.ranges {
			if rawdoc.Text(doc, "ns") == ns {
				n++
			}
		}
		switch {
		case n == 0:
			continue
		case len(z.shards) == 0:
			parts = append(parts, fmt.Sprintf("%s (%s, NO SHARD)", z.name, counted(n, "range")))
		default:
			parts = append(parts, fmt.Sprintf("%s (%s on %s)", z.name, counted(n, "range"), strings.Join(z.shards, " ")))
		}
	}
	return strings.Join(parts, ", ")
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// distributionRows are the shards of a collection, with its data where the
// server tells it.
func (r *statusReport) distributionRows(ns string, counts chunkCounts) (header []string, rows [][]string) {
	sizes := map[string]bson.Raw{}
	for _, coll := range r.distribution {
		if rawdoc.Text(coll, "ns") == ns {
			for _, d := range documentsAt(coll, "shards") {
				sizes[rawdoc.Text(d, "shardName")] = d
			}
		}
	}
	for _, c := range counts {
		row := []string{c.shard, fmt.Sprint(c.n), fmt.Sprint(c.jumbo), "?", "?", "?"}
		if d := sizes[c.shard]; d != nil {
			row = append(row[:3], plaintext.SizeText(rawdoc.Number(d, "ownedSizeBytes")), plaintext.PlainNumber(rawdoc.Number(d, "numOwnedDocuments")), plaintext.PlainNumber(rawdoc.Number(d, "numOrphanedDocs")))
		}
		rows = append(rows, row)
	}
	return []string{"shard", "chunks#", "jumbo#", "data#", "documents#", "orphans#"}, rows
}

// drawZones draws a row a range, and one for each zone that has none.
func drawZones(t *display.Tables, zones []zoneLayout) {
	t.Heading("Zones")
	if len(zones) == 0 {
		t.Line("none", "")
		return
	}
	var rows [][]string
	for _, z := range zones {
		shards := strings.Join(z.shards, " ")
		if text := z.problem(); text != "" {
			shards = "NO SHARD"
		}
		for _, doc := range z.ranges {
			rows = append(rows, []string{z.name, shards, rawdoc.Text(doc, "ns"), bound(doc, "min"), bound(doc, "max")})
		}
		if len(z.ranges) == 0 {
			rows = append(rows, []string{z.name, shards, "no range", "", ""})
		}
	}
	t.Grid([]string{"zone", "shards", "collection", "from", "up to"}, rows)
}

// bound is a bound of a chunk or of a zone: its values, without the names of the
// shard key's fields.
func bound(doc bson.Raw, field string) string {
	key, _ := doc.Lookup(field).DocumentOK()
	values, _ := key.Values()
	parts := make([]string, len(values))
	for i, v := range values {
		switch v.Type {
		case bson.TypeMinKey:
			parts[i] = "MinKey"
		case bson.TypeMaxKey:
			parts[i] = "MaxKey"
		default:
			parts[i] = display.OldJSON(v, "", true)
		}
	}
	return strings.Join(parts, ", ")
}

func (b *balancerSummary) draw(t *display.Tables) {
	t.Heading("Balancer")
	state := "yes"
	if !b.balanced() {
		state = "NO"
	}
	t.Line("balanced", state)
	round := "not in a round"
	if rawdoc.TruthyAt(b.status, "inBalancerRound") {
		round = "in a round"
	}
	t.Line("mode", rawdoc.Text(b.status, "mode")+", "+round)
	t.Line("policy", b.policy)
	t.Line("window", windowText(b.settings))
	for _, m := range b.active {
		t.Line("moving now", fmt.Sprintf("%s from %s to %s", m.ns, m.from, m.to))
	}
	if len(b.draining) > 0 {
		t.Line("draining", strings.Join(names(b.draining), " "))
	}
	for _, text := range b.problems() {
		t.Line("problem", text)
	}
	if len(b.collections) == 0 {
		return
	}
	t.Heading("Collections")
	var rows [][]string
	for _, c := range b.collections {
		why := "yes"
		if c.why != "" {
			why = "NO, " + c.why
		}
		if c.defragged != "" {
			why += " (" + c.defragged + ")"
		}
		rows = append(rows, []string{c.ns, why, c.alone, fmt.Sprint(c.chunks), fmt.Sprint(c.jumbo)})
	}
	t.Grid([]string{"collection", "balanced", "left alone", "chunks#", "jumbo#"}, rows)
}
