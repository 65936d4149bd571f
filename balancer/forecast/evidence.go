package forecast

import (
	"math"
	"slices"
	"time"

	"shardsh/balancer/catalog"
)

// pastMigration is a successful migration in the change log.
type pastMigration struct {
	at       time.Time
	ns       string
	from, to catalog.ShardID
	bytes    int64
	// took is the duration of the migration; copied is the duration of the clone and the catch-up (the
	// donor's step 4).
	took, copyTime time.Duration
}

// pastFailure is a migration that failed after it had begun.
type pastFailure struct {
	at       time.Time
	from, to catalog.ShardID
	took     time.Duration
}

// evidence holds the past migrations in the logs of a snapshot, the newest first.
type evidence struct {
	moves    []pastMigration
	failures []pastFailure
	// refused counts the migrations that a donor refused before copying, such as chunks that are too
	// large or that wait for a range deletion. Simulations reproduce those by themselves.
	refused int64
	// tried and moved count the migrations of rounds, including those that no shard has logged.
	tried, moved int64
	// roundTime is the average duration of the last rounds that moved chunks.
	roundTime time.Duration
}

// maxPastMigrations limits the number of migrations and rounds that are read. More would not improve the
// medians.
const maxPastMigrations = 2000

// readEvidence reads the logs.
func readEvidence(s *catalog.Snapshot) evidence {
	var e evidence
	parts := s.Parts()
	e.addMigrations(parts.Changes)
	e.addRounds(parts.Actions)
	return e
}

// stepsToClone is how many steps a donor has completed when the recipient begins to copy.
const stepsToClone = 3

// addMigrations adds the newest ended migrations. Migrations without counts are skipped, because they
// show no rate.
func (e *evidence) addMigrations(log []catalog.LogEntry) {
	var ended []catalog.EndedMigration
	var reader catalog.MigrationFinder
	for _, entry := range log {
		if m, ok := reader.ReadEntry(entry); ok {
			ended = append(ended, m)
		}
	}
	for _, m := range slices.Backward(ended) {
		if len(e.moves)+len(e.failures) >= maxPastMigrations {
			return
		}
		took, copied, steps := m.Durations()
		switch {
		case m.Error == "" && m.Counted:
			e.moves = append(e.moves, pastMigration{
				at: m.Time, ns: m.Namespace, from: m.From, to: m.To, bytes: m.Bytes, took: took, copyTime: copied,
			})
		case m.Error == "":
		case steps < stepsToClone:
			e.refused++
		default:
			e.failures = append(e.failures, pastFailure{m.Time, m.From, m.To, took})
		}
	}
}

// maxRecentRounds is how many rounds are used for roundTime.
const maxRecentRounds = 20

// addRounds counts the migrations that rounds tried and moved.
func (e *evidence) addRounds(log []catalog.LogEntry) {
	var took time.Duration
	timedRounds := 0
	for i, n := len(log)-1, 0; i >= 0 && n < maxPastMigrations; i-- {
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
		if ms, ok := log[i].Detail("executionTimeMillis").AsInt64OK(); ok && moved > 0 && timedRounds < maxRecentRounds {
			took += time.Duration(ms) * time.Millisecond
			timedRounds++
		}
	}
	e.roundTime = took / time.Duration(max(1, timedRounds))
}

// failureShares returns the share of failed migrations, among all and among those that shards have
// logged. Some migrations fail before a shard logs them; rounds also count those.
func (e *evidence) failureShares() (all, logged float64) {
	logged = float64(len(e.failures)) / math.Max(1, float64(len(e.moves)+len(e.failures)))
	if e.tried < 10 {
		return logged, logged
	}
	return math.Max(logged, float64(e.tried-e.moved-e.refused)/float64(e.tried)), logged
}
