package price

import (
	"cmp"
	"fmt"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
)

// reshardingReserve is the space that a resharding needs, as a multiple of its data: it also applies
// oplog entries.
const reshardingReserve = 1.1

// addMoves adds the bytes that the steps copy, and refuses a way that does not fit on a disk.
func (p *comparer) addMoves(w *Way, steps []plan.Step) {
	volumes := catalog.NewVolumes(p.snapshot, 1)
	links := map[[2]catalog.ShardID]int64{}
	for _, s := range steps {
		if s.Kind != plan.Move {
			continue
		}
		w.Moves++
		w.Bytes += s.Bytes
		links[[2]catalog.ShardID{s.From, s.To}] += s.Bytes
		// The donor's deletions free space only inside its own files, at an unknown time.
		volumes.AddData(s.Namespace, s.To, s.Bytes)
	}
	w.Links = sortedLinks(links)
	w.Peaks = []Peak{}
	for _, shard := range p.snapshot.Shards() {
		used := shard.Disk.Total - volumes.FreeBytes(shard.ID)
		w.Peaks = append(w.Peaks, Peak{shard.ID, used, shard.Disk.Total})
	}
	p.checkDisks(w)
}

// addRewrite adds the space of a new copy of the collection besides the present one.
func (p *comparer) addRewrite(w *Way, shares map[catalog.ShardID]int64) {
	links, total := map[[2]catalog.ShardID]int64{}, int64(0)
	for _, data := range p.coll.Sizes {
		total += data.Bytes
	}
	for from, data := range p.coll.Sizes {
		for to, share := range shares {
			if n := int64(float64(data.Bytes) * float64(share) / float64(max(1, total))); n > 0 && from != to {
				links[[2]catalog.ShardID{from, to}] += n
			}
		}
	}
	w.Bytes, w.Links, w.Peaks = total, sortedLinks(links), []Peak{}
	for _, shard := range p.snapshot.Shards() {
		need := int64(reshardingReserve * p.coll.DiskRatio() * float64(shares[shard.ID]))
		peak := Peak{Shard: shard.ID, Total: shard.Disk.Total, Used: need}
		if shard.Disk.Known() {
			peak.Used += shard.Disk.Used
		}
		w.Peaks = append(w.Peaks, peak)
	}
	p.checkDisks(w)
}

// checkDisks refuses a way in which received data would fill a volume above the limit.
func (p *comparer) checkDisks(w *Way) {
	for _, peak := range w.Peaks {
		shard, _ := p.snapshot.Shard(peak.Shard)
		grows := peak.Used > shard.Disk.Used
		if peak.Total > 0 && grows && peak.Share() > p.options.DiskLimit && w.Refused == "" {
			w.Refused = fmt.Sprintf("the disk of shard %s would be %s full, and may be %s", peak.Shard,
				humanize.Percent(peak.Share()), humanize.Percent(p.options.DiskLimit))
		}
	}
}

func sortedLinks(of map[[2]catalog.ShardID]int64) []Link {
	list := []Link{}
	for pair, n := range of {
		list = append(list, Link{pair[0], pair[1], n})
	}
	slices.SortFunc(list, func(a, b Link) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	return list
}
