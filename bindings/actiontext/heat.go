package actiontext

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/heat"
	"shardsh/balancer/humanize"
	"shardsh/balancer/report"
	"shardsh/bindings/plaintext"
)

// Heat returns the load of collections as text, one collection after another.
func Heat(r action.HeatResult) string {
	if len(r.Collections) == 0 {
		return "There is no sharded collection.\n"
	}
	var b strings.Builder
	for i, c := range r.Collections {
		if i > 0 {
			b.WriteString("\n")
		}
		writeCollectionHeat(&b, c)
	}
	return b.String()
}

func writeCollectionHeat(b *strings.Builder, c action.CollectionHeat) {
	fmt.Fprintf(b, "%s: %s reads/s, %s writes/s\n", c.Namespace, perSecond(c.Total.Reads), perSecond(c.Total.Writes))
	fmt.Fprintf(b, "  from %s\n\n", sourceText(c.Source))
	grid := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(grid, "  \treads/s\twrites/s\tof the mean\tto all shards\tchunks\tbusy\t")
	for _, s := range c.Shards {
		busy := ""
		if s.BusySecondsPerSecond > 0 {
			busy = fmt.Sprintf("%.2f s/s", s.BusySecondsPerSecond)
		}
		fmt.Fprintf(grid, "  %s\t%s\t%s\t%.2f\t%s\t%d\t%s\t\n", s.Shard, perSecond(s.Load.Reads), perSecond(s.Load.Writes),
			s.LoadOfMean, perSecond(s.Scatter.Total()), s.Chunks, busy)
	}
	_ = grid.Flush() // writes to a Builder do not fail
	if len(c.Chunks) > 0 {
		fmt.Fprintf(b, "\n  Hottest chunks\n")
		grid = tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(grid, "  from\ton\treads/s\twrites/s\tboth, with 95 %\tsamples")
		for _, k := range c.Chunks {
			fmt.Fprintf(grid, "  %s\t%s\t%s\t%s\t%s\t%d\n", k.Min, k.Shard, perSecond(k.Load.Reads), perSecond(k.Load.Writes),
				intervalText(k.TotalInterval), k.Samples)
		}
		_ = grid.Flush()
	}
	if c.OverTime != nil {
		writeLoadGrid(b, *c.OverTime)
	}
	if len(c.Findings) > 0 {
		b.WriteString("\n")
	}
	for _, f := range c.Findings {
		fmt.Fprintf(b, "  %s: %s\n", f.Code, f.Text())
	}
	if c.Source.SamplingCommand != "" {
		fmt.Fprintf(b, "\n  No query of it is sampled, so that no chunk can be named. To have some sampled, enter\n"+
			"  %s\n  and look again after two minutes; { mode: \"off\" } ends it.\n", c.Source.SamplingCommand)
	}
	for _, note := range c.Source.Notes {
		fmt.Fprintf(b, "  Note: %s\n", note)
	}
}

// maxGridLines is the maximum number of key ranges whose load over time is shown: those that were
// hottest at any time.
const maxGridLines = 10

// writeLoadGrid writes the load of the hottest key ranges over time.
func writeLoadGrid(b *strings.Builder, c heat.Grid) {
	peak := func(r heat.GridRange) float64 { return slices.Max(r.Shares) }
	ranges := slices.DeleteFunc(slices.Clone(c.Ranges), func(r heat.GridRange) bool { return peak(r) == 0 })
	if len(ranges) == 0 || len(c.Samples) < 2 {
		return
	}
	byPeak := slices.SortedStableFunc(slices.Values(ranges), func(x, y heat.GridRange) int {
		return cmp.Compare(peak(y), peak(x))
	})
	most, least := peak(byPeak[0]), peak(byPeak[min(maxGridLines, len(byPeak))-1])
	fmt.Fprintf(b, "\n  Over time, from %s to %s UTC, the hottest ranges by key: █ is %s of the sampled queries\n",
		c.From.UTC().Format("15:04"), c.From.Add(time.Duration(len(c.Samples))*c.Step).UTC().Format("15:04"),
		humanize.Percent(most))
	grid := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	lines := 0
	for _, r := range ranges {
		if peak(r) < least || lines == maxGridLines {
			continue
		}
		lines++
		fmt.Fprintf(grid, "  %s\t%s\t|%s|\n", plaintext.Truncate(r.MinText, 24), r.Shard, sparkline(r.Shares, most))
	}
	_ = grid.Flush()
}

// sparkline returns shares as a sparkline; each column is the mean of equally many values.
func sparkline(shares []float64, most float64) string {
	var b strings.Builder
	places := min(40, len(shares))
	for i := range places {
		part := shares[i*len(shares)/places : (i+1)*len(shares)/places]
		sum := 0.0
		for _, share := range part {
			sum += share
		}
		b.WriteString(report.HeatBlock(sum/float64(len(part)), most))
	}
	return b.String()
}

func sourceText(s action.HeatSource) string {
	var parts []string
	if s.Counters {
		parts = append(parts, "the shards' counters")
	}
	if s.Samples > 0 {
		text := humanize.Count(s.Samples, "sampled query")
		if s.Samples != 1 {
			text = humanize.Number(s.Samples) + " sampled queries"
		}
		if s.Logged {
			text = humanize.Count(s.Samples, "logged operation")
		}
		if s.SamplesPerSecond > 0 && !s.Logged {
			text += fmt.Sprintf(" (%g a second at most)", s.SamplesPerSecond)
		}
		parts = append(parts, text)
	}
	if s.InsertSamples > 0 {
		parts = append(parts, humanize.Count(s.InsertSamples, "new document"))
	}
	if len(parts) == 0 {
		return "nothing: neither counters nor samples could be read"
	}
	text := strings.Join(parts, ", ")
	if !s.Counters {
		text += "; without counters the load may be a multiple of this"
	}
	return text
}

// perSecond formats a rate; small rates have one decimal.
func perSecond(n float64) string {
	if n > 0 && n < 10 {
		return fmt.Sprintf("%.1f", n)
	}
	return humanize.Number(int64(math.Round(n)))
}

func intervalText(i heat.Interval) string { return perSecond(i.Low) + " to " + perSecond(i.High) }

// HeatPlan returns the first steps of a run for the load goal, and the resulting imbalance.
func HeatPlan(p action.HeatPlan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The largest load of a shard is %.2f of the mean", p.MaxLoadBefore)
	if len(p.Steps) == 0 {
		b.WriteString(": nothing is to be moved.\n")
	} else {
		fmt.Fprintf(&b, ", %.2f after these steps. Later rounds count again.\n", p.MaxLoadAfter)
	}
	for _, s := range p.Steps {
		if s.Point != "" {
			fmt.Fprintf(&b, "  split %s at %s\n", s.Namespace, s.Point)
			continue
		}
		fmt.Fprintf(&b, "  move %s %s from %s to %s: %.0f%% of the mean load, %s\n", s.Namespace, s.Min, s.From, s.To,
			s.LoadOfMean*100, humanize.Bytes(s.Bytes))
	}
	for _, left := range p.Left {
		fmt.Fprintf(&b, "  %s: %s\n", left.Code, left.Text)
	}
	return b.String()
}
