package balancer

import (
	"shardsh/balancer/policy"
)

// idleCollections are the collections in which earlier rounds found nothing to do. Rounds skip them
// until they change.
type idleCollections struct {
	// revision is Config.Revision; nil if changes are not tracked.
	revision    func(ns string) *uint64
	byNamespace map[string]*idleCollection
}

// idleCollection is the state of one collection that earlier rounds have determined.
type idleCollection struct {
	revision *uint64
	// nothingToSplitAt and nothingToMoveAt are the revision + 1 (0 = unknown) at which there was
	// nothing to split at zone boundaries, and nothing to move.
	nothingToSplitAt, nothingToMoveAt uint64
	candidates                        *policy.Candidates
	// neverZoned says that the collection has no zones and cannot get any in this run.
	neverZoned bool
}

func newIdleCollections(revision func(ns string) *uint64) idleCollections {
	return idleCollections{revision: revision, byNamespace: map[string]*idleCollection{}}
}

// entryFor returns the entry of a collection, created if missing.
func (i *idleCollections) entryFor(ns string) *idleCollection {
	known := i.byNamespace[ns]
	if known == nil {
		known = &idleCollection{revision: i.revision(ns)}
		i.byNamespace[ns] = known
	}
	return known
}

// nothingToMove reports whether a collection is known to have nothing to move with the
// shards available.
func (i *idleCollections) nothingToMove(ns string, available *policy.AvailableShards) bool {
	known := i.byNamespace[ns]
	if known == nil || known.candidates == nil {
		return false
	}
	if known.nothingToMoveAt != *known.revision+1 {
		known.candidates = nil // releases the outdated routing table
		return false
	}
	return !known.candidates.MayChoose(available)
}

// noteNothingChosen records the input of a selection that chose nothing for a collection.
func (i *idleCollections) noteNothingChosen(s policy.Situation, available *policy.AvailableShards) {
	if i.revision != nil {
		known := i.entryFor(s.Namespace)
		known.nothingToMoveAt, known.candidates = *known.revision+1, policy.NewCandidates(s, available)
	}
}

// noteNothingToMove records that a collection has nothing to move until it changes.
func (i *idleCollections) noteNothingToMove(ns string, available *policy.AvailableShards) {
	if i.revision != nil {
		known := i.entryFor(ns)
		known.nothingToMoveAt, known.candidates = *known.revision+1, policy.NoCandidates(available)
	}
}

// noteNothingToSplit records that a collection has nothing to split at its zone boundaries; unzoned
// means that it never will.
func (i *idleCollections) noteNothingToSplit(ns string, unzoned bool) {
	if i.revision != nil {
		known := i.entryFor(ns)
		known.nothingToSplitAt, known.neverZoned = *known.revision+1, unzoned
	}
}

// nothingToSplit reports whether a collection is known to have nothing to split.
func (i *idleCollections) nothingToSplit(ns string) bool {
	known := i.byNamespace[ns]
	return known != nil && (known.neverZoned || known.nothingToSplitAt == *known.revision+1)
}
