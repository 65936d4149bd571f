package report

import (
	"cmp"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Shard is the summary of a shard.
type Shard struct {
	Holding
	ID          catalog.ShardID `json:"id"`
	Zones       []string        `json:"zones"`
	Draining    bool            `json:"draining,omitzero"`
	Drain       string          `json:"drain,omitzero"` // progress of the draining, in words
	Unreachable string          `json:"unreachable,omitzero"`
	// Disk is the disk volume; nil if it is unknown.
	Disk *Disk `json:"disk,omitempty"`
	// Deletions is the number of pending range deletions, if it is known: a mongos alone does not show
	// it.
	Deletions int `json:"deletions,omitzero"`
	// Collections is the number of collections with data on the shard.
	Collections int `json:"collections"`
	// Deviation is how far the shard's bytes are from the mean of all shards that are not draining, as
	// a part of that mean: 0.5 means half as much more. It is 0 for draining shards.
	Deviation float64 `json:"deviation"`
}

// Disk is the volume with the data of the shard's primary.
type Disk struct {
	Total int64   `json:"total"`
	Used  int64   `json:"used"`
	Share float64 `json:"share"`
}

// diskOf converts a volume; nil if its size is unknown.
func diskOf(d catalog.Disk) *Disk {
	if !d.Known() {
		return nil
	}
	return &Disk{d.Total, d.Used, d.UsedShare()}
}

// ShardsOf returns the shards: first those that do not answer, then those that are draining, then by
// bytes.
func ShardsOf(s *catalog.Snapshot, collections []Collection) []Shard {
	sums := map[catalog.ShardID]*Shard{}
	for _, shard := range s.Shards() {
		one := &Shard{
			ID: shard.ID, Zones: append([]string{}, shard.Zones...), Draining: shard.Draining, Unreachable: shard.Unreachable,
		}
		one.Disk = diskOf(shard.Disk)
		if shard.Draining {
			one.Drain = diagnosis.DrainOf(s, shard).String()
		}
		sums[shard.ID] = one
	}
	for _, d := range s.Parts().Deletions {
		if shard := sums[d.Shard]; shard != nil {
			shard.Deletions++
		}
	}
	for _, c := range collections {
		for _, p := range c.Parts {
			if sums[p.Shard] == nil { // the shard is no longer in config.shards
				sums[p.Shard] = &Shard{ID: p.Shard, Zones: []string{}, Unreachable: "not in config.shards"}
			}
			sums[p.Shard].add(p.Holding)
			sums[p.Shard].Collections++
		}
	}
	list := []Shard{}
	for _, shard := range sums {
		list = append(list, *shard)
	}
	setDeviations(list)
	slices.SortFunc(list, func(a, b Shard) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Chunks, a.Chunks),
			strings.Compare(string(a.ID), string(b.ID)))
	})
	return list
}

func (s Shard) rank() int {
	switch {
	case s.Unreachable != "":
		return 0
	case s.Draining:
		return 1
	}
	return 2
}

// ByteSpread describes the sizes of the shards that are not draining. DrainingShards counts the others.
type ByteSpread struct {
	Least, Mean, Most int64
	DrainingShards    int
}

// ByteSpreadOf returns the sizes of the shards that are not draining.
func ByteSpreadOf(list []Shard) (s ByteSpread) {
	n := int64(0)
	for _, shard := range list {
		if shard.Draining {
			s.DrainingShards++
			continue
		}
		if n++; n == 1 || shard.Bytes < s.Least {
			s.Least = shard.Bytes
		}
		s.Most = max(s.Most, shard.Bytes)
		s.Mean += shard.Bytes
	}
	s.Mean /= max(1, n)
	return s
}

func setDeviations(list []Shard) {
	mean := ByteSpreadOf(list).Mean
	for i := range list {
		if !list[i].Draining && mean > 0 {
			list[i].Deviation = float64(list[i].Bytes-mean) / float64(mean)
		}
	}
}
