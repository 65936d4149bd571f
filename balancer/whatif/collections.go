package whatif

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

func collectionKinds() []ChangeKind {
	return []ChangeKind{
		{"enable", "Turns balancing on for a collection.", "enable shop.orders", []usageForm{
			{"NS", func(w []string) (edit, error) { return setNoBalance(w[0], false), nil }},
		}},
		{"disable", "Turns balancing off for a collection.", "disable shop.orders", []usageForm{
			{"NS", func(w []string) (edit, error) { return setNoBalance(w[0], true), nil }},
		}},
		{"defragment", "Starts defragmenting a collection.", "defragment shop.orders", []usageForm{
			{"NS", func(w []string) (edit, error) { return setDefragment(w[0]), nil }},
		}},
		{"clearJumbo", "Clears the jumbo flag of all chunks of a collection, or of the one with a key.",
			`clearJumbo shop.orders '{"customer": 7}'`, []usageForm{
				{"NS", func(w []string) (edit, error) { return clearJumbo(w[0], nil), nil }},
				{"NS KEY", func(w []string) (edit, error) {
					key, err := parseDocument(w[1])
					return clearJumbo(w[0], key), err
				}},
			}},
		{"grow", "Grows a collection, or all of them, by a percentage; a negative one shrinks it.",
			"grow shop.orders 50%", []usageForm{
				{"PERCENT", func(w []string) (edit, error) { return parseGrowth("", w[0]) }},
				{"NS PERCENT", func(w []string) (edit, error) { return parseGrowth(w[0], w[1]) }},
			}},
		{"drop", "Drops a collection.", "drop shop.orders", []usageForm{
			{"NS", func(w []string) (edit, error) {
				return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
					err := diagnosis.CheckScope(s, diagnosis.Scope{Namespace: w[0]})
					if c := s.Collection(w[0]); c != nil {
						return s.WithoutCollection(c.Namespace), err
					}
					return s, err
				}, nil
			}},
		}},
	}
}

// newCollectionEdit returns an edit of one sharded collection.
func newCollectionEdit(ns string, do func(r catalog.Release, c *catalog.CollectionState) error) edit {
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		c, err := findSharded(s, ns)
		if err != nil {
			return nil, err
		}
		next := *c
		if err := do(s.Release(), &next); err != nil {
			return nil, err
		}
		return s.WithCollection(&next), nil
	}
}

func setNoBalance(ns string, off bool) edit {
	return newCollectionEdit(ns, func(_ catalog.Release, c *catalog.CollectionState) error {
		c.NoBalance = off
		return nil
	})
}

func setDefragment(ns string) edit {
	return newCollectionEdit(ns, func(r catalog.Release, c *catalog.CollectionState) error {
		if !r.Defragments() {
			return fmt.Errorf("%s can't defragment, which came with 6.0", r)
		}
		c.Defragment = true
		return nil
	})
}

// clearJumbo clears jumbo flags: of the chunk with a key or, without a key, of all chunks.
func clearJumbo(ns string, doc bson.Raw) edit {
	return newCollectionEdit(ns, func(_ catalog.Release, c *catalog.CollectionState) error {
		flagged := slices.Collect(c.Table.JumboChunks())
		if doc != nil {
			key, err := diagnosis.ParseKey(c, doc)
			if err != nil {
				return fmt.Errorf("%w; the shard key of %s is %s", err, ns, c.Pattern)
			}
			chunk := c.Table.Find(key)
			flagged = slices.DeleteFunc(flagged, func(f catalog.Chunk) bool { return !f.Min.Equal(chunk.Min) })
		}
		if len(flagged) == 0 {
			return errors.New("there is no jumbo chunk")
		}
		for i := range flagged {
			flagged[i].Jumbo = catalog.JumboUnset
		}
		table, err := c.Table.Apply(flagged)
		c.Table = table
		return err
	})
}

// Limits of growth, in percent.
const (
	minGrowthPercent = -99
	maxGrowthPercent = 10_000
)

// parseGrowth returns an edit that scales the data of a collection, or of all collections for an empty
// namespace.
func parseGrowth(ns, word string) (edit, error) {
	percent, err := strconv.ParseFloat(strings.TrimSuffix(word, "%"), 64)
	if err != nil || !(percent >= minGrowthPercent && percent <= maxGrowthPercent) {
		return nil, fmt.Errorf("%s is not a percentage from %d%% to %d%%", word, minGrowthPercent, maxGrowthPercent)
	}
	times := 1 + percent/100
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		if ns != "" {
			c, err := findSharded(s, ns)
			if err != nil {
				return nil, err
			}
			return s.WithCollection(scaleCollection(c, times)), nil
		}
		for _, c := range s.Collections() {
			s = s.WithCollection(scaleCollection(c, times))
		}
		return s, nil
	}, nil
}

// scaleCollection returns a collection with times as many documents of the same size.
func scaleCollection(c *catalog.CollectionState, times float64) *catalog.CollectionState {
	scaled := func(documents, bytes int64) (int64, int64) {
		more := int64(math.Round(times * float64(documents)))
		if documents == 0 {
			return more, int64(math.Round(times * float64(bytes)))
		}
		return more, int64(math.Round(float64(bytes) / float64(documents) * float64(more)))
	}
	next := withSizes(c, func(_ catalog.ShardID, data catalog.ShardData) (catalog.ShardData, bool) {
		data.Documents, data.Bytes = scaled(data.Documents, data.Bytes)
		return data, true
	})
	next.ChunkSizes = slices.Clone(c.ChunkSizes)
	for i, size := range next.ChunkSizes {
		next.ChunkSizes[i].Documents, next.ChunkSizes[i].Bytes = scaled(size.Documents, size.Bytes)
	}
	return next
}
