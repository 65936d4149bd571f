package runner

import (
	"slices"
	"sync"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// maxTries is the number of times that a range is tried again after a failure that may be temporary.
// The wait between two tries doubles each time.
const (
	maxTries   = 8
	firstDelay = 10 * time.Second
	maxDelay   = 10 * time.Minute
)

// skippedRanges contains the ranges and collections that a run skips. The engine sees these ranges as
// flagged jumbo, so that it does not move them.
type skippedRanges struct {
	mu          sync.Mutex
	ranges      []*skippedRange
	collections map[string]string // reasons, by namespace
}

// skippedRange is a range that is skipped: the chunk that contains min.
type skippedRange struct {
	ns    string
	min   catalog.Key
	until time.Time   // zero: for good
	code  policy.Code // zero: RangeSkipped
	why   string
	tries int
	// retry says that the range has failed and is to be tried again.
	retry bool
	// immediateRetries is the number of consecutive times it was tried again immediately.
	immediateRetries int
	// tooBigVersion is the version of the chunk that was too big to be moved.
	tooBigVersion catalog.ChunkVersion
	// forced describes the forced migration of the range; nil if it is not to be moved by force.
	forced *apply.ForcedMove
}

func (s *skippedRanges) find(ns string, lower catalog.Key) *skippedRange {
	for _, a := range s.ranges {
		if a.ns == ns && a.min.Equal(lower) {
			return a
		}
	}
	return nil
}

func (s *skippedRanges) findOrAdd(ns string, lower catalog.Key) *skippedRange {
	a := s.find(ns, lower)
	if a == nil {
		a = &skippedRange{ns: ns, min: lower}
		s.ranges = append(s.ranges, a)
	}
	return a
}

// skipUntil skips a range until a time. The reason is not a failure.
func (s *skippedRanges) skipUntil(ns string, lower catalog.Key, until time.Time, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.findOrAdd(ns, lower) = skippedRange{ns: ns, min: lower, until: until, why: why}
}

// skipForGood leaves a range alone for the rest of the run.
func (s *skippedRanges) skipForGood(ns string, lower catalog.Key, code policy.Code, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.findOrAdd(ns, lower)
	a.until, a.code, a.why, a.retry = time.Time{}, code, why, false
}

// scheduleRetry skips a range until its next try, if one is left. It returns the time until the next try.
func (s *skippedRanges) scheduleRetry(
	ns string, lower catalog.Key, now time.Time, why string,
) (delay time.Duration, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.findOrAdd(ns, lower)
	a.why = why
	if a.tries++; a.tries >= maxTries {
		a.until, a.retry = time.Time{}, false
		return 0, false
	}
	delay = min(maxDelay, firstDelay<<(a.tries-1))
	a.until, a.retry = now.Add(delay), true
	return delay, true
}

// noteTooBig records that a chunk was too big to be moved. It reports whether that was recorded for
// this version of the chunk before, in which case splitting the chunk has not helped.
func (s *skippedRanges) noteTooBig(ns string, lower catalog.Key, v catalog.ChunkVersion) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.findOrAdd(ns, lower)
	again := a.tooBigVersion == v && v != (catalog.ChunkVersion{})
	a.tooBigVersion = v
	return again
}

// setForced lets the range be moved by force from now on.
func (s *skippedRanges) setForced(ns string, lower catalog.Key, f apply.ForcedMove) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.findOrAdd(ns, lower).forced = &f
}

// forced returns the description of the forced migration of a range; nil if the range is not to be
// moved by force.
func (s *skippedRanges) forced(ns string, lower catalog.Key) *apply.ForcedMove {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.find(ns, lower); a != nil {
		return a.forced
	}
	return nil
}

// maxImmediateRetries is the number of times a range is tried again immediately.
const maxImmediateRetries = 3

// countImmediateRetry counts an immediate retry, and reports whether another one is allowed.
func (s *skippedRanges) countImmediateRetry(ns string, lower catalog.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.findOrAdd(ns, lower)
	a.immediateRetries++
	return a.immediateRetries <= maxImmediateRetries
}

// forgetFailures forgets the failures of a range.
func (s *skippedRanges) forgetFailures(ns string, lower catalog.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranges = slices.DeleteFunc(s.ranges, func(a *skippedRange) bool { return a.ns == ns && a.min.Equal(lower) })
}

// skipCollection skips a collection for the rest of the run.
func (s *skippedRanges) skipCollection(ns, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.collections == nil {
		s.collections = map[string]string{}
	}
	s.collections[ns] = why
}

func (s *skippedRanges) skippedCollection(ns string) (why string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	why, found = s.collections[ns]
	return why, found
}

// canForget reports whether nothing has to be known about the range any more.
func (a *skippedRange) canForget(now time.Time) bool {
	return !a.until.IsZero() && !a.until.After(now) &&
		*a == skippedRange{ns: a.ns, min: a.min, until: a.until, why: a.why} // it has not failed
}

// skippedAt returns the ranges of a collection that are skipped at a time. It forgets ranges that are
// not skipped any more, so that a long run does not collect all that it has moved.
func (s *skippedRanges) skippedAt(ns string, now time.Time) (list []skippedRange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranges = slices.DeleteFunc(s.ranges, func(a *skippedRange) bool { return a.canForget(now) })
	for _, a := range s.ranges {
		if a.ns == ns && a.why != "" && (a.until.IsZero() || a.until.After(now)) {
			list = append(list, *a)
		}
	}
	return list
}

// nextRetry returns the first retry time among the ranges that were skipped at the time since. Other
// ranges could have been chosen since then, so their placement is final.
func (s *skippedRanges) nextRetry(since time.Time) (at time.Time, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.ranges {
		if a.retry && a.until.After(since) && (at.IsZero() || a.until.Before(at)) {
			at = a.until
		}
	}
	return at, !at.IsZero()
}

// withJumboFlags returns a routing table in which the skipped chunks have the jumbo flag.
func (s *skippedRanges) withJumboFlags(
	ns string, t *catalog.RoutingTable, now time.Time,
) (*catalog.RoutingTable, error) {
	var changed []catalog.Chunk
	seen := map[int]bool{}
	for _, a := range s.skippedAt(ns, now) {
		if len(a.min.Values()) != t.Pattern().Len() {
			continue // the shard key has changed since
		}
		i := t.IndexOf(a.min)
		c := t.At(i)
		if seen[i] || c.Jumbo == catalog.JumboTrue {
			continue
		}
		seen[i], c.Jumbo = true, catalog.JumboTrue
		changed = append(changed, c)
	}
	return t.Apply(changed)
}
