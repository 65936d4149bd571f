package forecast

import (
	"math"
	"slices"
	"time"

	"shardsh/balancer/catalog"
)

// migration is one that succeeded, as the change log tells it.
type migration struct {
	at       time.Time
	ns       string
	from, to catalog.ShardID
	bytes    int64
	// took is the whole of it, copied the part in which the clone is copied and
	// caught up (the donor's step 4).
	took, copied time.Duration
}

// failure is a migration that failed after it was begun.
type failure struct {
	at       time.Time
	from, to catalog.ShardID
	took     time.Duration
}

// evidence is what the logs of a snapshot tell of past migrations, the newest
// first.
type evidence struct {
	moves    []migration
	failures []failure
	// refused counts those that a donor did not begin to copy, as too large ones and
	// those that wait for a range deletion: a simulation has these by itself.
	refused int64
	// tried and moved count the migrations of rounds, those included that no shard
	// has logged.
	tried, moved int64
	// round is what the last rounds took on average that moved something.
	round time.Duration
}

// most is how many migrations and how many rounds are looked at. More would not
// make the medians any better.
const most = 2000

// evidenceOf reads the logs.
func evidenceOf(s *catalog.Snapshot) evidence {
	var e evidence
	parts := s.Parts()
	e.migrations(parts.Changes)
	e.rounds(parts.Actions)
	return e
}

// stepsToClone is how many of its steps a donor has behind it when the recipient
// copies.
const stepsToClone = 3

// migrations keeps the newest of those that have ended. What nobody counted says
// nothing about speed.
func (e *evidence) migrations(log []catalog.LogEntry) {
	var ended []catalog.EndedMigration
	var reader catalog.MigrationLog
	for _, entry := range log {
		if m, ok := reader.Next(entry); ok {
			ended = append(ended, m)
		}
	}
	for _, m := range slices.Backward(ended) {
		if len(e.moves)+len(e.failures) >= most {
			return
		}
		took, copied, steps := m.Durations()
		switch {
		case m.Error == "" && m.Counted:
			e.moves = append(e.moves, migration{
				at: m.Time, ns: m.Namespace, from: m.From, to: m.To, bytes: m.Bytes, took: took, copied: copied,
			})
		case m.Error == "":
		case steps < stepsToClone:
			e.refused++
		default:
			e.failures = append(e.failures, failure{m.Time, m.From, m.To, took})
		}
	}
}

// recentRounds are those that tell what a round takes.
const recentRounds = 20

// rounds counts what rounds tried and moved.
func (e *evidence) rounds(log []catalog.LogEntry) {
	var took, lasting time.Duration
	for i, n := len(log)-1, 0; i >= 0 && n < most; i-- {
		if log[i].What != "balancer.round" {
			continue
		}
		tried, known := log[i].Detail("candidateChunks").AsInt64OK()
		if !known {
			continue
		}
		moved, _ := log[i].Detail("chunksMoved").AsInt64OK()
		e.tried, e.moved = e.tried+tried, e.moved+min(moved, tried)
		n++
		if ms, ok := log[i].Detail("executionTimeMillis").AsInt64OK(); ok && moved > 0 && lasting < recentRounds {
			took += time.Duration(ms) * time.Millisecond
			lasting++
		}
	}
	e.round = took / max(1, lasting)
}

// failing returns the share of migrations that fail, and that of those which shards
// have begun and logged. Some fail before a shard logs anything; rounds count these,
// too.
func (e *evidence) failing() (all, logged float64) {
	logged = float64(len(e.failures)) / math.Max(1, float64(len(e.moves)+len(e.failures)))
	if e.tried < 10 {
		return logged, logged
	}
	return math.Max(logged, float64(e.tried-e.moved-e.refused)/float64(e.tried)), logged
}
