package sh

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/report"
	"shardsh/bindings/display"
)

// Overviews list the worst elements first. Elements that need attention are never left out: only the
// others are summarized in a line.

// shardGrid returns a row for each shard: first those that don't answer, then those that are draining,
// then sorted by data. The data is that of tracked collections, including orphans; servers before 6.0.3
// do not report it.
func shardGrid(list []report.Shard, known bool, host func(id string) string) (header []string, rows [][]string) {
	for _, s := range list {
		size, state := "?", s.Unreachable
		if known {
			size = humanize.Bytes(s.Bytes + s.OrphanBytes)
		}
		if s.Draining {
			state = "draining"
		}
		rows = append(rows, []string{
			string(s.ID), size, fmt.Sprint(s.Chunks), state, strings.Join(s.Zones, " "), host(string(s.ID)),
		})
	}
	return []string{"shard", "sharded data#", "chunks#", "state", "zones", "host"}, rows
}

// countNotable counts the shards at the beginning that need attention.
func countNotable(list []report.Shard) (n int) {
	for _, s := range list {
		if s.Draining || s.Unreachable != "" {
			n++
		}
	}
	return n
}

// spreadText describes how evenly the data is distributed; empty for a single shard, and if the data is
// unknown.
func spreadText(list []report.Shard, known bool) string {
	if !known || len(list) < 2 {
		return ""
	}
	of, size := report.ByteSpreadOf(list), func(n int64) string { return humanize.Bytes(n) }
	text := fmt.Sprintf("%s, from %s to %s, %s on average", humanize.Count(len(list), "shard"),
		size(of.Least), size(of.Most),
		size(of.Mean))
	if of.DrainingShards > 0 {
		text += fmt.Sprintf("; %d of them draining, not counted", of.DrainingShards)
	}
	return text
}

// balancedCollections returns the balanced collections.
func balancedCollections(list []report.Collection) []report.Collection {
	return slices.DeleteFunc(slices.Clone(list), func(c report.Collection) bool { return c.State != report.Balanced })
}

// balancedSummaryText summarizes balanced collections.
func balancedSummaryText(list []report.Collection) string {
	var chunks, bytes int64
	known := true
	for _, c := range list {
		chunks, bytes, known = chunks+c.Chunks, bytes+c.Bytes, known && c.SizesKnown
	}
	text := fmt.Sprintf("%s balanced: %s", humanize.Count(len(list), "collection"), display.ChunksText(float64(chunks)))
	if known {
		text += ", " + humanize.Bytes(bytes)
	}
	return text
}

// collectionGrid returns a row for each collection: whether it is balanced, and why not.
func collectionGrid(list []report.Collection, s *catalog.Snapshot) (header []string, rows [][]string) {
	for _, c := range list {
		b := diagnosis.BalanceOf(s, s.Collection(c.Namespace))
		why := "yes"
		switch {
		case !b.Known:
			why = "unknown: " + b.Reason
		case !b.Balanced:
			why = "NO, " + b.ViolationText()
		}
		if phase := s.Collection(c.Namespace).DefragmentationPhase; b.Defragmentation.Running && phase != "" {
			why += " (" + phase + ")"
		}
		data := "?"
		if c.SizesKnown {
			data = humanize.Bytes(c.Bytes)
		}
		rows = append(rows, []string{
			c.Namespace, why, b.DisabledBy.String(), data, fmt.Sprint(c.Chunks), fmt.Sprint(c.Jumbo),
		})
	}
	return []string{"collection", "balanced", "disabled", "data#", "chunks#", "jumbo#"}, rows
}
