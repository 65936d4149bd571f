package diagnosis

import (
	"fmt"
	"math"
	"slices"

	"shardsh/balancer/heat"
	"shardsh/balancer/humanize"
)

// Thresholds of load findings.
const (
	minHotShardRatio  = 1.25 // of the mean of the shards
	minHotChunkShare  = 0.25 // of the average load of a shard
	minHotChunkRatio  = 3    // times the average chunk
	maxHotChunks      = 3
	minScatterShare   = 0.2 // of the sampled reads or writes
	minScatterSamples = 50
	minLoadPerShard   = 1 // operations a second on average; lower loads are ignored
)

// HeatFindings returns findings about the distribution of a collection's load.
func HeatFindings(m *heat.Map, by heat.LoadKind) (list []Finding) {
	w := m.WeightsFor(by)
	mean := m.Mean(w)
	if mean == 0 || len(m.Shards) < 2 || m.Total.Total() < minLoadPerShard*float64(len(m.Shards)) {
		return nil
	}
	list = append(list, hotShardFindings(m, w, mean)...)
	list = append(list, hotKeyFindings(m)...)
	list = append(list, hotChunkFindings(m, w, mean)...)
	if is := m.Monotonic; is != nil {
		end := "MaxKey"
		if !is.AtMax {
			end = "MinKey"
		}
		f := finding(MonotonicKey, Scope{Namespace: m.Namespace, Shard: is.Shard}, fmt.Sprintf(
			"%s of the inserts into %s go to the chunk at %s, on %s", humanize.Percent(is.InsertShare), m.Namespace, end,
			is.Shard),
			fmt.Sprintf("sh.adviseKey(%q)", m.Namespace))
		f.Numbers = countNumbers("insertsPerSecond", perSecond(is.InsertsPerSecond))
		list = append(list, f)
	}
	if m.Samples >= minScatterSamples && max(m.ScatteredShare.Reads, m.ScatteredShare.Writes) >= minScatterShare {
		f := finding(Scatter, Scope{Namespace: m.Namespace}, fmt.Sprintf(
			"%s of the reads and %s of the updates and deletes of %s go to all shards", humanize.Percent(m.ScatteredShare.Reads),
			humanize.Percent(m.ScatteredShare.Writes), m.Namespace), fmt.Sprintf("sh.adviseKey(%q)", m.Namespace))
		f.Numbers = countNumbers("readsPercent", int64(math.Round(m.ScatteredShare.Reads*100)),
			Number{Name: "writesPercent", Value: int64(math.Round(m.ScatteredShare.Writes * 100))})
		list = append(list, f)
	}
	return list
}

func perSecond(n float64) int64 { return int64(math.Round(n)) }

func hotShardFindings(m *heat.Map, w heat.Weights, mean float64) (list []Finding) {
	for _, s := range m.Shards {
		share := w.Weigh(s.Load) / mean
		if share < minHotShardRatio || s.Load.Total() > 0 && share*s.TotalInterval.Low/s.Load.Total() < 1 {
			continue
		}
		f := finding(HotShard, Scope{Namespace: m.Namespace, Shard: s.Shard}, fmt.Sprintf(
			"%s has %.1f times the load of %s that a shard has on average: %s", s.Shard, share, m.Namespace, LoadText(s.Load)),
			fmt.Sprintf(`sh.balance(%q, { goal: "load" })`, m.Namespace))
		f.Numbers = countNumbers("readsPerSecond", perSecond(s.Load.Reads),
			Number{Name: "writesPerSecond", Value: perSecond(s.Load.Writes)},
			Number{Name: "percentOfMean", Value: int64(math.Round(share * 100))})
		list = append(list, f)
	}
	return list
}

// LoadText formats a load as operations a second.
func LoadText(l heat.Load) string {
	return fmt.Sprintf("%s and %s a second", humanize.Count(perSecond(l.Reads), "read"),
		humanize.Count(perSecond(l.Writes), "write"))
}

func hotKeyFindings(m *heat.Map) (list []Finding) {
	for _, k := range m.HotKeys {
		f := finding(HotKey, Scope{Namespace: m.Namespace, Shard: k.Shard, Chunk: m.Chunks[k.Chunk].Min}, fmt.Sprintf(
			"one shard key of %s, %s, has %s of the load that a shard has on average: %s, on %s", m.Namespace,
			humanize.Literal(m.Pattern.Bound(k.Key)), humanize.Percent(k.LoadOfMean), LoadText(k.Load), k.Shard),
			fmt.Sprintf("sh.adviseKey(%q)", m.Namespace))
		f.Numbers = countNumbers("samples", int64(k.Samples),
			Number{Name: "percentOfMean", Value: int64(math.Round(k.LoadOfMean * 100))})
		list = append(list, f)
	}
	return list
}

// hotChunkFindings returns a finding for each hot chunk whose load does not come from a single key.
func hotChunkFindings(m *heat.Map, w heat.Weights, mean float64) (list []Finding) {
	var sum float64
	for _, c := range m.Chunks {
		sum += w.Weigh(c.Load)
	}
	if m.Samples == m.InsertSamples { // the chunk of other operations is unknown
		return nil
	}
	average := sum / float64(len(m.Chunks))
	for _, c := range m.Hottest(w, maxHotChunks) {
		value := w.Weigh(c.Load)
		sure := value * c.TotalInterval.Low / max(c.Load.Total(), 1e-9)
		one := slices.ContainsFunc(m.HotKeys, func(k heat.HotKey) bool { return m.Chunks[k.Chunk].Min.Equal(c.Min) })
		if one || sure < max(minHotChunkShare*mean, minHotChunkRatio*average) {
			continue
		}
		f := finding(HotChunk, Scope{Namespace: m.Namespace, Shard: c.Shard, Chunk: c.Min}, fmt.Sprintf(
			"the chunk of %s at %s has %.0f times the load of the average chunk: %s, on %s", m.Namespace,
			humanize.Literal(m.Pattern.Bound(c.Min)), value/average, LoadText(c.Load), c.Shard),
			fmt.Sprintf(`sh.balance(%q, { goal: "load" })`, m.Namespace))
		f.Numbers = countNumbers("readsPerSecond", perSecond(c.Load.Reads),
			Number{Name: "writesPerSecond", Value: perSecond(c.Load.Writes)})
		list = append(list, f)
	}
	return list
}

// StuckShardText says why a shard keeps more load than other shards, without a full stop.
func StuckShardText(s heat.OverloadedShard, maps []heat.Map) string {
	has := fmt.Sprintf("%s keeps %.1f times the mean load", s.Shard, s.LoadOfMean)
	advise := fmt.Sprintf("; another shard key may: shardsh advise --ns %s", s.Namespace)
	switch s.Why {
	case heat.ObstacleHotKey:
		return fmt.Sprintf("%s: one shard key of %s, %s, has most of it, and no move helps%s", has, s.Namespace,
			keyText(maps, s), advise)
	case heat.ObstacleMonotonic:
		return fmt.Sprintf("%s: all inserts into %s go to the end of its shard key, and no move helps%s", has,
			s.Namespace, advise)
	case heat.ObstacleUnsampled:
		return has + ": no sample tells which of its chunks have the load"
	}
	return has + ": none of its chunks may move, because of its size, its zone, a lack of room, or a recent move"
}

func keyText(maps []heat.Map, s heat.OverloadedShard) string {
	for _, m := range maps {
		if m.Namespace == s.Namespace {
			return humanize.Literal(m.Pattern.Bound(s.Key))
		}
	}
	return s.Key.String()
}

// StuckLoadFindings returns findings about shards whose load cannot be evened out.
func StuckLoadFindings(d heat.Decision, maps []heat.Map) (list []Finding) {
	codes := map[heat.Obstacle]Code{heat.ObstacleHotKey: HotKey, heat.ObstacleMonotonic: MonotonicKey}
	for _, s := range d.Overloaded {
		code, named := codes[s.Why]
		if !named {
			code = HotShard
		}
		list = append(list, finding(code, Scope{Namespace: s.Namespace, Shard: s.Shard}, StuckShardText(s, maps)))
	}
	return list
}
