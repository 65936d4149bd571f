package policy

import (
	"cmp"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// maxOutstandingMergeAll is the maximum number of merges that the auto-merger has in progress
// (rules/02-defragmentation-and-merging §3.4).
const maxOutstandingMergeAll = 10

// MergerEvent is an event of the auto-merger for the change log. Its namespace and details are empty
// (rules/02-defragmentation-and-merging §3.2).
type MergerEvent string

// The events.
const (
	MergerEnabled  MergerEvent = "autoMerge.enable"
	MergerDisabled MergerEvent = "autoMerge.disable"
	MergerStarts   MergerEvent = "autoMerge.start"
	MergerEnds     MergerEvent = "autoMerge.end"
)

// AutoMerger merges, round by round, the chunks that can be merged on every shard
// (rules/02-defragmentation-and-merging §3). The zero value is disabled. The caller has to log the
// returned events in order.
type AutoMerger struct {
	enabled     bool
	round       int // current round; results of older rounds are ignored
	began       time.Time
	lacksWork   bool // Next was not called in the round yet
	ended       bool
	outstanding int
	work        []MergeWork
	rescheduled []MergeWork
}

// MergeWork contains the collections that the auto-merger has to process on one shard.
type MergeWork struct {
	Shard      catalog.ShardID
	Namespaces []string // processed from the end
}

// Enabled reports whether the auto-merger is enabled.
func (m *AutoMerger) Enabled() bool { return m.enabled }

// Enable begins a round, unless the auto-merger is enabled already.
func (m *AutoMerger) Enable(now time.Time) []MergerEvent {
	if m.enabled {
		return nil
	}
	m.enabled = true
	return append([]MergerEvent{MergerEnabled}, m.begin(now))
}

// EnableAfterRound enables the auto-merger after a finished round that began at a time, unless it is
// enabled already.
func (m *AutoMerger) EnableAfterRound(began time.Time) []MergerEvent {
	if m.enabled {
		return nil
	}
	m.enabled, m.ended, m.began = true, true, began
	return []MergerEvent{MergerEnabled}
}

// Disable disables the auto-merger and drops the work of the round. Merges that are to be repeated are
// kept.
func (m *AutoMerger) Disable() []MergerEvent {
	if !m.enabled {
		return nil
	}
	m.enabled, m.work = false, nil
	return []MergerEvent{MergerDisabled}
}

func (m *AutoMerger) begin(now time.Time) MergerEvent {
	m.round++
	m.began, m.lacksWork, m.ended, m.work, m.outstanding = now, true, false, nil, 0
	return MergerStarts
}

// BeginDueRound begins a new round if the last round is over and more whole seconds than the interval have
// passed since its beginning.
func (m *AutoMerger) BeginDueRound(now time.Time, interval time.Duration) []MergerEvent {
	if !m.enabled || len(m.work) > 0 || m.outstanding > 0 || now.Sub(m.began).Truncate(time.Second) <= interval {
		return nil
	}
	return []MergerEvent{m.begin(now)}
}

// LacksWork reports whether the round needs its work (SetWork), until the first call of Next.
func (m *AutoMerger) LacksWork() bool { return m.enabled && m.lacksWork }

// SetWork sets the work of the round, by shard in ascending order.
func (m *AutoMerger) SetWork(work []MergeWork) { m.work = work }

// Next returns the next merge, and the events to log if there is none.
func (m *AutoMerger) Next() (StreamAction, bool, []MergerEvent) {
	if !m.enabled {
		return StreamAction{}, false, nil
	}
	throttle := m.lacksWork
	m.lacksWork = false
	if m.outstanding >= maxOutstandingMergeAll {
		return StreamAction{}, false, nil
	}
	for len(m.work)+len(m.rescheduled) > 0 {
		if len(m.work) == 0 {
			m.work, m.rescheduled = m.rescheduled, nil
		}
		w := &m.work[0]
		if len(w.Namespaces) == 0 {
			m.work, throttle = m.work[1:], true
			continue
		}
		last := len(w.Namespaces) - 1
		ns := w.Namespaces[last]
		w.Namespaces = w.Namespaces[:last]
		m.outstanding++
		return StreamAction{Kind: MergeAll, Namespace: ns, Shard: w.Shard, Throttled: throttle, round: m.round}, true, nil
	}
	if m.ended {
		return StreamAction{}, false, nil
	}
	m.ended = true
	return StreamAction{}, false, []MergerEvent{MergerEnds}
}

// RecordMergeResult records the result of a merge, and reports whether another merge may start. Results of an
// older round are ignored; in the server they could block the policy.
func (m *AutoMerger) RecordMergeResult(a StreamAction, r StreamActionResult) (wake bool) {
	if a.round != m.round {
		return false
	}
	m.outstanding--
	if r.Err == nil && r.MergedChunks > 0 || mongoerr.Is(r.Err, mongoerr.ConflictingOperationInProgress) {
		m.reschedule(a)
	}
	return m.outstanding < maxOutstandingMergeAll
}

func (m *AutoMerger) reschedule(a StreamAction) {
	i, ok := slices.BinarySearchFunc(m.rescheduled, a.Shard,
		func(w MergeWork, id catalog.ShardID) int { return cmp.Compare(w.Shard, id) })
	if !ok {
		m.rescheduled = slices.Insert(m.rescheduled, i, MergeWork{Shard: a.Shard})
	}
	m.rescheduled[i].Namespaces = append(m.rescheduled[i].Namespaces, a.Namespace)
}
