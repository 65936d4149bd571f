package forecast

import (
	"math"
	"slices"
	"time"

	"shardsh/balancer/catalog"
)

// pastMigration is one that succeeded, as the change log tells it.
type pastMigration struct {
	at       time.Time
	ns       string
	from, to catalog.ShardID
	bytes    int64
	// took is the whole of it, copied the part in which the clone is copied and
	// caught up (the donor's step 4).
	took, copied time.Duration
}

// pastFailure is a migration that failed after it was begun.
type pastFailure struct {
	at       time.Time
	from, to catalog.ShardID
	took     time.Duration
}

// evidence is what the logs of a snapshot tell of past migrations, the newest
// first.
type evidence struct {
	moves    []pastMigration
	failures []pastFailure
	// refused counts those that a donor did not begin to copy, as too large ones and
	// those that wait for a range deletion: a simulation has these by itself.
	refused int64
	// tried and moved count the migrations of rounds, those included that no shard
	// has logged.
	tried, moved int64
	// roundTime is what the last rounds took on average that moved something.
	roundTime time.Duration
}

// maxEvidence limits the migrations and the rounds that are looked at. More would not
// make the medians any better.
const maxEvidence = 2000

// readEvidence reads the logs.
func readEvidence(s *catalog.Snapshot) evidence {
	var e evidence
	parts := s.Parts()
	e.addMigrations(parts.Changes)
	e.addRounds(parts.Actions)
	return e
}

// stepsToClone is how many of its steps a donor has behind it when the recipient
// copies.
const stepsToClone = 3

// addMigrations keeps the newest ended migrations. Those without counts say
// nothing about speed.
func (e *evidence) addMigrations(log []catalog.LogEntry) {
	var ended []catalog.EndedMigration
	var reader catalog.MigrationLog
	for _, entry := range log {
		if m, ok := reader.Next(entry); ok {
			ended = append(ended, m)
		}
	}
	for _, m := range slices.Backward(ended) {
		if len(e.moves)+len(e.failures) >= maxEvidence {
			return
		}
		took, copied, steps := m.Durations()
		switch {
		case m.Error == "" && m.Counted:
			e.moves = append(e.moves, pastMigration{
				at: m.Time, ns: m.Namespace, from: m.From, to: m.To, bytes: m.Bytes, took: took, copied: copied,
			})
		case m.Error == "":
		case steps < stepsToClone:
			e.refused++
		default:
			e.failures = append(e.failures, pastFailure{m.Time, m.From, m.To, took})
		}
	}
}

// maxRecentRounds are those that tell what a round takes.
const maxRecentRounds = 20

// addRounds counts what rounds tried and moved.
func (e *evidence) addRounds(log []catalog.LogEntry) {
	var took, lasting time.Duration
	for i, n := len(log)-1, 0; i >= 0 && n < maxEvidence; i-- {
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
		if ms, ok := log[i].Detail("executionTimeMillis").AsInt64OK(); ok && moved > 0 && lasting < maxRecentRounds {
			took += time.Duration(ms) * time.Millisecond
			lasting++
		}
	}
	e.roundTime = took / max(1, lasting)
}

// failureShares returns the share of migrations that fail, and that of those which shards
// have begun and logged. Some fail before a shard logs anything; rounds count these,
// too.
func (e *evidence) failureShares() (all, logged float64) {
	logged = float64(len(e.failures)) / math.Max(1, float64(len(e.moves)+len(e.failures)))
	if e.tried < 10 {
		return logged, logged
	}
	return math.Max(logged, float64(e.tried-e.moved-e.refused)/float64(e.tried)), logged
}
