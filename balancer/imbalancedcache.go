package balancer

import (
	"iter"
	"slices"
)

// Limits of one selection (rules/01-rounds-and-settings §1.8).
const (
	// statsBatchSize is how many collections are measured by one command.
	statsBatchSize = 100
	// imbalancedCacheLimit is 75 % of the batch size.
	imbalancedCacheLimit = statsBatchSize * 3 / 4
)

// imbalancedCache remembers collections that had candidates, so that the next
// round is sure to measure them (rules/01-rounds-and-settings §3.5). The zero value is empty. It
// keeps insertion order only to make runs repeatable; the order has no effect.
type imbalancedCache struct {
	order []string
	set   map[string]bool
}

func (c *imbalancedCache) len() int { return len(c.order) }

func (c *imbalancedCache) has(ns string) bool { return c.set[ns] }

// add adds a collection, unless the cache is full.
func (c *imbalancedCache) add(ns string) {
	if c.set[ns] || len(c.order) >= imbalancedCacheLimit {
		return
	}
	if c.set == nil {
		c.set = map[string]bool{}
	}
	c.set[ns] = true
	c.order = append(c.order, ns)
}

func (c *imbalancedCache) remove(ns string) {
	if !c.set[ns] {
		return
	}
	delete(c.set, ns)
	i := slices.Index(c.order, ns)
	c.order = slices.Concat(c.order[:i], c.order[i+1:]) // all may iterate over the old one
}

// all returns the collections of this moment: the caller may remove collections during the iteration.
func (c *imbalancedCache) all() iter.Seq[string] {
	return slices.Values(c.order)
}
