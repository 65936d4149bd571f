package runner

import (
	"slices"
	"sync"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
)

// How often a range is tried again after a failure that may pass, and how long it is
// left alone in between: twice as long each time.
const (
	maxTries   = 8
	firstDelay = 10 * time.Second
	maxDelay   = 10 * time.Minute
)

// skippedRanges keeps what this run leaves alone. The engine sees such ranges as flagged
// jumbo, which nothing moves.
type skippedRanges struct {
	mu          sync.Mutex
	ranges      []*skippedRange
	collections map[string]string // why, by namespace
}

// skippedRange is a range that is skipped: the chunk in which min lies.
type skippedRange struct {
	ns    string
	min   catalog.Key
	until time.Time // zero: for good
	why   string
	tries int
	// retry: it failed, and is to be tried again.
	retry bool
	// races is how often in a row it was tried again at once.
	races int
	// tooBig is the version of the chunk that was too big to be moved.
	tooBig catalog.ChunkVersion
	// forced is what a migration by force of the range takes; nil for others.
	forced *apply.Forced
}

func (l *skippedRanges) find(ns string, lower catalog.Key) *skippedRange {
	for _, a := range l.ranges {
		if a.ns == ns && a.min.Equal(lower) {
			return a
		}
	}
	a := &skippedRange{ns: ns, min: lower}
	l.ranges = append(l.ranges, a)
	return a
}

// rest leaves a range alone for a time that is not a failure.
func (l *skippedRanges) rest(ns string, lower catalog.Key, until time.Time, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*l.find(ns, lower) = skippedRange{ns: ns, min: lower, until: until, why: why}
}

// skip leaves a range alone for the rest of the run.
func (l *skippedRanges) skip(ns string, lower catalog.Key, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.find(ns, lower)
	a.until, a.why, a.retry = time.Time{}, why, false
}

// later leaves a range alone until it is tried again, if it is. It returns for how
// long.
func (l *skippedRanges) later(
	ns string, lower catalog.Key, now time.Time, why string,
) (delay time.Duration, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.find(ns, lower)
	a.why = why
	if a.tries++; a.tries >= maxTries {
		a.until, a.retry = time.Time{}, false
		return 0, false
	}
	delay = min(maxDelay, firstDelay<<(a.tries-1))
	a.until, a.retry = now.Add(delay), true
	return delay, true
}

// tooBig notes a chunk that was too big to be moved, and reports whether it was
// already: splitting it has not helped.
func (l *skippedRanges) tooBig(ns string, lower catalog.Key, v catalog.ChunkVersion) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.find(ns, lower)
	again := a.tooBig == v && v != (catalog.ChunkVersion{})
	a.tooBig = v
	return again
}

// force has a range moved by force from now on.
func (l *skippedRanges) force(ns string, lower catalog.Key, f apply.Forced) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.find(ns, lower).forced = &f
}

// forced returns what the migration of a range by force takes; nil if it is to go without.
func (l *skippedRanges) forced(ns string, lower catalog.Key) *apply.Forced {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.find(ns, lower).forced
}

// maxRaces is how often a range is tried again at once.
const maxRaces = 3

// raced reports whether a range is to be tried again at once.
func (l *skippedRanges) raced(ns string, lower catalog.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.find(ns, lower)
	a.races++
	return a.races <= maxRaces
}

// moved forgets the failures of a range.
func (l *skippedRanges) moved(ns string, lower catalog.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ranges = slices.DeleteFunc(l.ranges, func(a *skippedRange) bool { return a.ns == ns && a.min.Equal(lower) })
}

// hold leaves a collection alone.
func (l *skippedRanges) hold(ns, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.collections == nil {
		l.collections = map[string]string{}
	}
	l.collections[ns] = why
}

func (l *skippedRanges) held(ns string) (why string, is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	why, is = l.collections[ns]
	return why, is
}

// at returns why ranges of a collection are left alone at a time, by where they
// begin.
func (l *skippedRanges) at(ns string, now time.Time) (list []skippedRange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.ranges {
		if a.ns == ns && a.why != "" && (a.until.IsZero() || a.until.After(now)) {
			list = append(list, *a)
		}
	}
	return list
}

// next returns when the first range is to be tried again of those that were left alone
// at a time. The others could have been chosen since: where they are is fine.
func (l *skippedRanges) next(since time.Time) (at time.Time, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.ranges {
		if a.retry && a.until.After(since) && (at.IsZero() || a.until.Before(at)) {
			at = a.until
		}
	}
	return at, !at.IsZero()
}

// flagged returns a table in which the chunks that are left alone are flagged.
func (l *skippedRanges) flagged(ns string, t *catalog.RoutingTable, now time.Time) (*catalog.RoutingTable, error) {
	var changed []catalog.Chunk
	seen := map[int]bool{}
	for _, a := range l.at(ns, now) {
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
