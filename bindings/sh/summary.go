package sh

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/policy"
	"shardsh/balancer/report"
	"shardsh/bindings/display"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// balancerSummary says whether the cluster is balanced and whether chunks are moving
// (rules/04-outputs-and-traps §8, row 15).
type balancerSummary struct {
	*diagnosis.Diagnosis
	settings bson.Raw
	policy   string // what the balancer evens out
	shards   []report.Shard
	hasSizes bool // the data of shards is known
}

func (h *Helpers) readSummary() *balancerSummary {
	release, known := h.release()
	required := strictParts
	if known && !release.ReportsCollectionStatus() {
		required = lenientParts
	}
	seen := h.readCluster(live.ReaderOptions{
		Parts: live.Settings | live.Balancer | live.WindowClock | live.Shards | live.Collections | live.BalanceStatuses |
			live.ChunkCounts |
			live.Chunks | live.Zones | live.MigrationOutcomes | live.RunningMigrations | live.RunningReshardings |
			live.Unsharded |
			live.Sizes | live.Databases,
		WantsTable: needsChunks, OutcomeSpan: diagnosis.MaxFailureAge, Release: release, Required: required,
	})
	return &balancerSummary{
		Diagnosis: diagnosis.Diagnose(seen.Snapshot),
		settings:  configDocument(seen, "settings", "balancer"),
		policy:    h.balancingRulesText(),
		shards:    report.ShardsOf(seen.Snapshot, report.CollectionsOf(seen.Snapshot)),
		hasSizes:  seen.hasSizes(),
	}
}

// needsChunks selects the collections whose chunks are read to determine their balance: the counts of
// these collections are not sufficient, and the server is not asked about each of many collections.
func needsChunks(s *catalog.Snapshot, c *catalog.CollectionState) bool {
	return len(s.Collections()) > live.MaxStatusCollections && !diagnosis.BalanceOf(s, c).Known
}

// problems returns what keeps the balancer from working.
func (b *balancerSummary) problems() []string {
	var list []string
	for _, f := range b.Findings {
		switch f.Code {
		case diagnosis.BalancerOff:
			if f.Severity == diagnosis.Info {
				continue
			}
			list = append(list, f.Text())
		case diagnosis.DrainNeedsOperator, diagnosis.OnlyShardOfZone, diagnosis.ShardUnreachable, diagnosis.JumboChunks:
			list = append(list, f.Text())
		case diagnosis.MigrationsFailing, diagnosis.NotBalancedDisabled, diagnosis.ZoneWithoutShards:
			list = append(list, f.Sentence)
		}
	}
	return list
}

// drainingShards returns the ids of the draining shards.
func (b *balancerSummary) drainingShards() (ids []string) {
	for _, shard := range b.Shards() {
		if shard.Draining {
			ids = append(ids, string(shard.ID))
		}
	}
	return ids
}

// defragmentationPhase returns the phase of a collection's defragmentation; empty if there is none.
func (b *balancerSummary) defragmentationPhase(of diagnosis.Balance) string {
	if !of.Defragmentation.Running {
		return ""
	}
	return b.Collection(of.Namespace).DefragmentationPhase
}

func shBalancerSummary(c *call, sh *Helpers) goja.Value {
	b := sh.readSummary()
	collections := make([]any, len(b.Balances))
	for i, one := range b.Balances {
		o := c.JS.NewObject("ns", one.Namespace, "balanced", one.Balanced)
		for _, f := range [][2]string{
			{"violation", one.ViolationText()}, {"leftAlone", one.DisabledBy.String()},
			{"defragmentationPhase", b.defragmentationPhase(one)},
		} {
			if f[1] != "" {
				script.Must(o.Set(f[0], f[1]))
			}
		}
		n := b.Collection(one.Namespace).Count()
		script.Must(o.Set("chunks", n.Chunks))
		script.Must(o.Set("jumboChunks", n.Jumbo))
		collections[i] = o
	}
	parts := b.Parts()
	o := c.JS.NewObject("balanced", b.IsBalanced(), "mode", string(parts.Balancer.Mode), "policy", b.policy,
		"window", c.host.balancerWindow(b.settings, windowClock(b.Snapshot)), "inBalancerRound", parts.Balancer.InRound,
		"activeMigrations", c.host.migrationsObject(parts.Migrations),
		"reshardings", c.host.reshardingsObject(parts.Reshardings), "drainingShards", c.host.textArray(b.drainingShards()),
		"shards", b.shardValues(c.host), "collections", c.JS.Runtime.NewArray(collections...),
		"problems", c.host.textArray(b.problems()))
	return c.host.Display.WithTable(o, b.draw)
}

// shardValues returns the shards, sorted by data.
func (b *balancerSummary) shardValues(s *Host) *goja.Object {
	items := make([]any, len(b.shards))
	for i, shard := range b.shards {
		o := s.JS.NewObject("shard", string(shard.ID), "chunks", shard.Chunks, "jumboChunks", shard.Jumbo)
		if b.hasSizes {
			script.Must(o.Set("bytes", shard.Bytes))
			script.Must(o.Set("orphanBytes", shard.OrphanBytes))
		}
		items[i] = o
	}
	return s.JS.Runtime.NewArray(items...)
}

func (b *balancerSummary) draw(t *display.Tables) {
	parts := b.Parts()
	t.WriteHeading("Balancer")
	state := "yes"
	if !b.IsBalanced() {
		state = "NO"
	}
	t.WriteLine("balanced", state)
	t.WriteLine("mode", string(parts.Balancer.Mode)+", "+roundText(parts.Balancer))
	t.WriteLine("policy", b.policy)
	t.WriteLine("window", windowText(b.settings, windowClock(b.Snapshot)))
	writeActiveOperations(t, parts)
	if ids := b.drainingShards(); len(ids) > 0 {
		t.WriteLine("draining", strings.Join(ids, " "))
	}
	for _, text := range b.problems() {
		t.WriteLine("problem", text)
	}
	b.drawShards(t)
	b.drawCollections(t)
}

// drawShards draws the shards with the most data, and how evenly the data is distributed.
func (b *balancerSummary) drawShards(t *display.Tables) {
	if len(b.shards) == 0 {
		return
	}
	t.WriteHeading("Shards")
	var rows [][]string
	for _, s := range b.shards {
		size, state := "?", s.Drain
		if b.hasSizes {
			size = humanize.Bytes(s.Bytes)
		}
		rows = append(rows, []string{string(s.ID), size, deviationText(s, b.hasSizes), fmt.Sprint(s.Chunks),
			fmt.Sprint(s.Jumbo), state})
	}
	t.WriteTopRows([]string{"shard", "data#", "of average#", "chunks#", "jumbo#", "state"}, rows,
		countNotable(b.shards), "show shards")
	if text := spreadText(b.shards, b.hasSizes); text != "" {
		t.WriteNote(text)
	}
}

// deviationText returns the deviation of a shard's data from the average.
func deviationText(s report.Shard, known bool) string {
	if !known || s.Draining {
		return ""
	}
	return fmt.Sprintf("%+.0f%%", 100*s.Deviation)
}

// drawCollections draws a row for each collection with a problem. The other collections get rows if all
// fit on a screen, otherwise a single line.
func (b *balancerSummary) drawCollections(t *display.Tables) {
	list := slices.DeleteFunc(report.CollectionsOf(b.Snapshot), func(c report.Collection) bool { return c.Unsplittable })
	if len(list) == 0 {
		return
	}
	t.WriteHeading("Collections")
	fine := balancedCollections(list)
	if len(list) <= display.MaxRows {
		t.WriteGrid(collectionGrid(list, b.Snapshot))
		return
	}
	if len(fine) < len(list) {
		t.WriteGrid(collectionGrid(list[:len(list)-len(fine)], b.Snapshot))
	}
	if len(fine) > 0 {
		t.WriteNote("and " + balancedSummaryText(fine) + "; see sh.balancerSummary().collections")
	}
}

func roundText(b catalog.BalancerState) string {
	if b.InRound {
		return "round running"
	}
	return "no round running"
}

// balancingRulesText describes what the server's balancer evens out, which depends only on its release.
func (h *Helpers) balancingRulesText() string {
	release, known := h.release()
	if !known {
		return "unknown"
	}
	return policy.RulesOf(release).String()
}
