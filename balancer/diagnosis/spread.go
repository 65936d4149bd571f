package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Spread describes the distribution of a collection over the shards of a zone, in the unit that its
// release compares: bytes since 6.0, chunks before.
type Spread struct {
	Zone string `json:"zone,omitzero"` // empty for keys outside of zones
	Unit Unit   `json:"unit,omitzero"`
	// Ideal is the even share of each shard that is not draining. Threshold is the difference from
	// which data moves; 0 where it depends on the round.
	Ideal     int64 `json:"ideal"`
	Threshold int64 `json:"threshold,omitzero"`
	// Shards are the shards of the zone, the farthest from the ideal first.
	Shards []Share `json:"shards"`
}

// Share is the part of a collection on one shard.
type Share struct {
	Shard    catalog.ShardID `json:"shard"`
	Bytes    int64           `json:"bytes"`
	Chunks   int64           `json:"chunks"`
	Draining bool            `json:"draining,omitzero"`
	// Over is how much the shard has above the ideal, in the Spread's unit.
	Over int64 `json:"over"`
}

// Spreads returns the distribution of a collection over the shards of each of its zones. It returns
// nothing if the size of a shard is unknown.
func Spreads(s *catalog.Snapshot, c *catalog.CollectionState) (list []Spread) {
	if len(c.Sizes) == 0 {
		return nil
	}
	names := c.Zones.Names()
	if !slices.Contains(names, catalog.NoZone) {
		names = append([]string{catalog.NoZone}, names...)
	}
	for _, zone := range names {
		one := Spread{Zone: zone, Unit: Bytes}
		if policy.RulesOf(s.Release()) != policy.RulesDataSize {
			one.Unit = Count
		} else {
			one.Threshold = 3 * c.ChunkSize(s.Settings())
		}
		if one.fill(s, c); len(one.Shards) > 1 {
			list = append(list, one)
		}
	}
	return list
}

func (sp *Spread) fill(s *catalog.Snapshot, c *catalog.CollectionState) {
	var total, stay int64
	for _, shard := range s.Shards() {
		data, known := s.OwnedData(c, shard)
		if !known || sp.Zone != catalog.NoZone && !shard.HasZone(sp.Zone) {
			continue
		}
		share := Share{Shard: shard.ID, Bytes: data.Bytes, Chunks: c.CountOn(shard.ID).Chunks, Draining: shard.Draining}
		sp.Shards, total = append(sp.Shards, share), total+sp.amount(share)
		if !shard.Draining {
			stay++
		}
	}
	sp.Ideal = total / max(1, stay) // a round also counts draining shards, but they will end up empty
	for i := range sp.Shards {
		share := &sp.Shards[i]
		if share.Over = sp.amount(*share); !share.Draining {
			share.Over -= sp.Ideal
		}
	}
	slices.SortFunc(sp.Shards, func(a, b Share) int {
		return cmp.Or(cmp.Compare(absolute(b.Over), absolute(a.Over)), cmp.Compare(b.Over, a.Over),
			strings.Compare(string(a.Shard), string(b.Shard)))
	})
}

// amount returns the amount of a share in the Spread's unit.
func (sp *Spread) amount(share Share) int64 {
	if sp.Unit == Count {
		return share.Chunks
	}
	return share.Bytes
}

func absolute(n int64) int64 { return max(n, -n) }
