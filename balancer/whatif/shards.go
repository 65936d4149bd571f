package whatif

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

func shardKinds() []ChangeKind {
	return []ChangeKind{
		{"addShard", "Adds an empty shard, or N of them with the next ids.", "addShard 2", []usageForm{
			{"", func([]string) (edit, error) { return addShards(1, nil), nil }},
			{"N|ID", func(w []string) (edit, error) { return parseAddShard(w[0], nil) }},
			{"N|ID ZONE,…", func(w []string) (edit, error) { return parseAddShard(w[0], strings.Split(w[1], ",")) }},
		}},
		{"drain", "Starts draining a shard, as removeShard does.", "drain shard2", []usageForm{
			{"SHARD", func(w []string) (edit, error) { return setDraining(catalog.ShardID(w[0]), true), nil }},
		}},
		{"stopDrain", "Stops draining a shard.", "stopDrain shard2", []usageForm{
			{"SHARD", func(w []string) (edit, error) { return setDraining(catalog.ShardID(w[0]), false), nil }},
		}},
		{"removeShard", "Removes an empty shard.", "removeShard shard2", []usageForm{
			{"SHARD", func(w []string) (edit, error) { return removeShard(catalog.ShardID(w[0])), nil }},
		}},
	}
}

// maxAddedShards is the maximum number of shards that one change adds.
const maxAddedShards = 1000

// parseAddShard parses a number of shards, or the id of one shard.
func parseAddShard(word string, zones []string) (edit, error) {
	if strings.Trim(word, "-0123456789") != "" {
		return addShardWithID(catalog.ShardID(word), zones), nil
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > maxAddedShards {
		return nil, fmt.Errorf("%s is not a number of shards from 1 to %d", word, maxAddedShards)
	}
	return addShards(n, zones), nil
}

func addShards(n int, zones []string) edit {
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		for range n {
			next, err := addShardWithID(nextShardID(s), zones)(s)
			if err != nil {
				return nil, err
			}
			s = next
		}
		return s, nil
	}
}

func addShardWithID(id catalog.ShardID, zones []string) edit {
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		if _, ok := s.Shard(id); ok {
			return nil, fmt.Errorf("the cluster already has a shard %s", id)
		}
		s = s.WithShard(catalog.ShardState{Shard: catalog.Shard{
			ID: id, Host: fmt.Sprintf("%s/%s:27018", id, id), State: 1, Zones: zones,
		}})
		for _, c := range s.Collections() {
			if len(c.Sizes) > 0 { // otherwise no shard has reported sizes
				s = s.WithCollection(c.WithSize(id, catalog.ShardData{}))
			}
		}
		return s, nil
	}
}

// nextShardID returns an id that continues the existing ones: the most common name with the highest
// number plus one.
func nextShardID(s *catalog.Snapshot) catalog.ShardID {
	most, common := map[string]int{}, ""
	count, width := map[string]int{}, map[string]int{}
	for _, shard := range s.Shards() {
		name := strings.TrimRight(string(shard.ID), "0123456789")
		digits := string(shard.ID)[len(name):]
		n, err := strconv.Atoi(digits)
		if err != nil {
			continue
		}
		if count[name]++; count[name] > count[common] {
			common = name
		}
		if n >= most[name] {
			most[name], width[name] = n, len(digits)
		}
	}
	for n := 1; ; n++ {
		id := catalog.ShardID(fmt.Sprintf("new%d", n))
		if count[common] > 0 {
			id = catalog.ShardID(fmt.Sprintf("%s%0*d", common, width[common], most[common]+n))
		}
		if _, taken := s.Shard(id); !taken {
			return id
		}
	}
}

// findShard returns a shard of the cluster, or an error.
func findShard(s *catalog.Snapshot, id catalog.ShardID) (catalog.ShardState, error) {
	shard, _ := s.Shard(id)
	return shard, diagnosis.CheckScope(s, diagnosis.Scope{Shard: id})
}

func setDraining(id catalog.ShardID, on bool) edit {
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		shard, err := findShard(s, id)
		if err != nil {
			return nil, err
		}
		shard.Draining, shard.ReportedDrain = on, nil
		next := s.WithShard(shard)
		for _, other := range next.Shards() {
			if !other.Draining {
				return next, nil
			}
		}
		return nil, errors.New("no shard would be left for the data: addShard first, or stopDrain another")
	}
}

func removeShard(id catalog.ShardID) edit {
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		if _, err := findShard(s, id); err != nil {
			return nil, err
		}
		if len(s.Shards()) == 1 {
			return nil, errors.New("it is the only shard")
		}
		for _, c := range s.Collections() {
			if n := c.CountOn(id).Chunks; n > 0 {
				return nil, fmt.Errorf("it has %d chunks of %s: drain %s first", n, c.Namespace, id)
			}
		}
		for _, d := range s.Parts().Databases {
			if d.Primary == id {
				return nil, fmt.Errorf("it is the primary shard of the database %s: movePrimary first", d.Name)
			}
		}
		for _, c := range s.Collections() {
			if _, told := c.Sizes[id]; told {
				s = s.WithCollection(withSizes(c, func(of catalog.ShardID, data catalog.ShardData) (catalog.ShardData, bool) {
					return data, of != id
				}))
			}
		}
		return s.WithoutShard(id), nil
	}
}

// withSizes returns a collection with the sizes that sizesOf returns; shards for which it returns false have
// none.
func withSizes(
	c *catalog.CollectionState, sizesOf func(catalog.ShardID, catalog.ShardData) (catalog.ShardData, bool),
) *catalog.CollectionState {
	next := *c
	next.Sizes = make(map[catalog.ShardID]catalog.ShardData, len(c.Sizes))
	for id, data := range c.Sizes {
		if changed, keep := sizesOf(id, data); keep {
			next.Sizes[id] = changed
		}
	}
	return &next
}
