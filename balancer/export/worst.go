package export

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"shardsh/balancer/check"
	"shardsh/balancer/report/machine"
)

// OtherNamespace is the ns label of the sum over all other collections. Real namespaces contain a dot.
const OtherNamespace = "other"

// additiveMetrics are the metrics of collections that can be summed. The sum over other collections has
// no other metrics.
var additiveMetrics = []string{
	"shardsh_collection_chunks", "shardsh_collection_jumbo_chunks", "shardsh_collection_bytes",
	"shardsh_collection_orphan_documents",
}

// WorstCollections returns the collections that get their own series: first unbalanced collections,
// then those with the most misplaced bytes, then those with the most jumbo chunks, then the largest.
func WorstCollections(r *check.Result, most int) map[string]bool {
	type rank struct {
		ns                  string
		state               int
		off, jumbo, content float64
	}
	var list []rank
	for _, b := range r.CoveredBalances() {
		c := r.Collection(b.Namespace)
		k := rank{ns: b.Namespace, content: float64(c.Bytes()), jumbo: float64(c.Count().Jumbo)}
		if b.Known && !b.Balanced {
			k.state = 1
		}
		for _, d := range check.Deviations(r.Snapshot, c) {
			k.off += math.Abs(d.ExcessBytes)
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b rank) int {
		return cmp.Or(cmp.Compare(b.state, a.state), cmp.Compare(b.off, a.off), cmp.Compare(b.jumbo, a.jumbo),
			cmp.Compare(b.content, a.content), strings.Compare(a.ns, b.ns))
	})
	worst := map[string]bool{}
	for _, k := range list[:min(most, len(list))] {
		worst[k.ns] = true
	}
	return worst
}

// SumUpOthers sums the samples of all collections that are not in own.
func SumUpOthers(list []machine.Family, own map[string]bool) []machine.Family {
	for i, f := range list {
		list[i].Samples = sumUpSamples(f, own)
	}
	return list
}

func sumUpSamples(f machine.Family, own map[string]bool) (kept []machine.Sample) {
	adds := slices.Contains(additiveMetrics, f.Name)
	rest := map[string]machine.Sample{}
	for _, s := range f.Samples {
		at := slices.Index(s.Labels, "ns") + 1
		switch {
		case at == 0 || own[s.Labels[at]]:
			kept = append(kept, s)
		case adds:
			labels := slices.Clone(s.Labels)
			labels[at] = OtherNamespace
			key := strings.Join(labels, "\x00")
			rest[key] = machine.Sample{Value: rest[key].Value + s.Value, Labels: labels}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		kept = append(kept, rest[key])
	}
	return kept
}
