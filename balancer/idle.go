package balancer

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// idleCollections are those in which earlier rounds found nothing to do. Rounds pass them
// over until they change.
type idleCollections struct {
	// revision is Config.Revision; nil = nothing is known of changes.
	revision func(ns string) *uint64
	known    map[string]*idleCollection
}

// idleCollection is what rounds found out about one collection.
type idleCollection struct {
	revision *uint64
	// unsplit and chosen are the revisions, and one more, at which there was nothing
	// to split at zones, and nothing to choose.
	unsplit, chosen uint64
	migrations      *policy.Candidates
	// unzoned: it has no zones, and will have none.
	unzoned bool
}

func newIdleCollections(revision func(ns string) *uint64) idleCollections {
	return idleCollections{revision: revision, known: map[string]*idleCollection{}}
}

// of returns what is kept of a collection.
func (p *idleCollections) of(ns string) *idleCollection {
	known := p.known[ns]
	if known == nil {
		known = &idleCollection{revision: p.revision(ns)}
		p.known[ns] = known
	}
	return known
}

// nothingToMove reports whether a collection is known to have nothing to move with the
// shards available.
func (p *idleCollections) nothingToMove(ns string, available *policy.Available) bool {
	known := p.known[ns]
	if known == nil || known.migrations == nil {
		return false
	}
	if known.chosen != *known.revision+1 {
		known.migrations = nil // and with it a routing table of old
		return false
	}
	return !known.migrations.Possible(available)
}

// note keeps what a selection that chose nothing looked at.
func (p *idleCollections) note(s policy.Situation, available *policy.Available) {
	if p.revision != nil {
		known := p.of(s.Namespace)
		known.chosen, known.migrations = *known.revision+1, policy.NewCandidates(s, available)
	}
}

// noteSettled notes that a collection has nothing to move as long as it does not change.
func (p *idleCollections) noteSettled(ns string, available *policy.Available) {
	if p.revision != nil {
		known := p.of(ns)
		known.chosen, known.migrations = *known.revision+1, policy.NoCandidates(available)
	}
}

// noteUnsplit notes that a collection has nothing to split at its zones; unzoned if
// it never will.
func (p *idleCollections) noteUnsplit(ns string, unzoned bool) {
	if p.revision != nil {
		known := p.of(ns)
		known.unsplit, known.unzoned = *known.revision+1, unzoned
	}
}

// fits reports whether a collection is known to have nothing to split.
func (p *idleCollections) fits(ns string) bool {
	known := p.known[ns]
	return known != nil && (known.unzoned || known.unsplit == *known.revision+1)
}

// shuffled returns collections in an order drawn.
func (l *Loop) shuffled(colls []catalog.Collection) []*catalog.Collection {
	list := make([]*catalog.Collection, len(colls))
	for i := range colls {
		list[i] = &colls[i]
	}
	l.rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}
