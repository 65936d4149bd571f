package report

import (
	"cmp"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Shard is a shard in numbers.
type Shard struct {
	Holding
	ID          catalog.ShardID `json:"id"`
	Zones       []string        `json:"zones"`
	Draining    bool            `json:"draining,omitzero"`
	Drain       string          `json:"drain,omitzero"` // how far it is, in words
	Unreachable string          `json:"unreachable,omitzero"`
	// Disk is the volume; not there where it is not known.
	Disk *Disk `json:"disk,omitempty"`
	// Deletions are ranges that the shard has yet to delete, where that is known: through a
	// mongos alone it is not.
	Deletions int `json:"deletions,omitzero"`
	// Collections is how many it has something of.
	Collections int `json:"collections"`
	// Deviation is how far its bytes are from the mean of all shards that don't
	// drain, as a part of that mean: 0.5 is half as much more. 0 for those that drain.
	Deviation float64 `json:"deviation"`
}

// Disk is the volume with the data of a shard's primary.
type Disk struct {
	Total int64   `json:"total"`
	Used  int64   `json:"used"`
	Share float64 `json:"share"`
}

// diskOf returns a volume; nil for one that is not known.
func diskOf(d catalog.Disk) *Disk {
	if !d.Known() {
		return nil
	}
	return &Disk{d.Total, d.Used, d.UsedShare()}
}

// ShardsOf returns the shards: those that do not answer, those that drain, then
// by bytes.
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
			if sums[p.Shard] == nil { // config.shards has it no more
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

// Spread are the bytes of shards that don't drain; Draining counts the others.
type Spread struct {
	Least, Mean, Most int64
	Draining          int
}

// SpreadOf returns how much the shards hold that don't drain.
func SpreadOf(list []Shard) (s Spread) {
	n := int64(0)
	for _, shard := range list {
		if shard.Draining {
			s.Draining++
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
	mean := SpreadOf(list).Mean
	for i := range list {
		if !list[i].Draining && mean > 0 {
			list[i].Deviation = float64(list[i].Bytes-mean) / float64(mean)
		}
	}
}
