package pace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// firstWait is the wait after the first failure. The wait doubles with each further failure.
const (
	firstWait = time.Second
	maxWait   = 5 * time.Minute
	// defaultMaxFailures is the default limit of consecutive failures.
	defaultMaxFailures = 10
)

// pair contains the two shards of a move.
type pair struct{ from, to catalog.ShardID }

// failures delays moves after repeated failures.
type failures struct {
	maxInRow     int
	inRow        int // of all shards
	until        time.Time
	last         error
	pairs        map[pair]*pairFailures
	operatorErr  error
	countByClass map[policy.FailureClass]int
}

type pairFailures struct {
	inRow int
	until time.Time
	last  error
}

func newFailures(maxInRow int) failures {
	return failures{
		maxInRow:     cmp.Or(maxInRow, defaultMaxFailures),
		pairs:        map[pair]*pairFailures{},
		countByClass: map[policy.FailureClass]int{},
	}
}

// addFailure records a failure. A chunk that is too big does not count: it is split, or skipped.
func (f *failures) addFailure(m Move, err error, now time.Time) {
	class := policy.FailureClassOf(err)
	f.countByClass[class]++
	if class == policy.AskOperator {
		f.operatorErr = &OperatorNeededError{Err: err}
		return
	}
	if policy.IsTooBig(err) {
		return
	}
	f.last = err
	if f.inRow++; f.inRow >= f.maxInRow {
		f.operatorErr = &OperatorNeededError{InARow: f.inRow, Err: err}
	}
	if !class.IsTransient() {
		return
	}
	p := f.pairs[pair{m.From, m.To}]
	if p == nil {
		p = &pairFailures{}
		f.pairs[pair{m.From, m.To}] = p
	}
	p.inRow++
	p.last = err
	tries := p.inRow
	if class == policy.RetryNow {
		tries-- // the first retry is immediate
	}
	p.until = now.Add(waitAfterFailures(tries))
	f.until = now.Add(waitAfterFailures(f.inRow - 1)) // a single failure delays only its pair of shards
}

// reset records a success.
func (f *failures) reset(m Move) {
	f.inRow, f.until, f.last = 0, time.Time{}, nil
	delete(f.pairs, pair{m.From, m.To})
}

// waitAfterFailures returns the wait after n consecutive failures.
func waitAfterFailures(n int) time.Duration {
	switch {
	case n <= 0:
		return 0
	case n > 9: // the wait has reached its maximum
		return maxWait
	}
	return min(firstWait<<(n-1), maxWait)
}

// obstacle returns the obstacle if failures delay a move.
func (f *failures) obstacle(m Move, now time.Time) *obstacle {
	until, n, last := f.until, f.inRow, f.last
	if p := f.pairs[pair{m.From, m.To}]; p != nil && p.until.After(until) {
		until, n, last = p.until, p.inRow, p.last
	}
	left := until.Sub(now)
	if left <= 0 {
		return nil
	}
	times := "a failure"
	if n > 1 {
		times = fmt.Sprintf("%d failures in a row", n)
	}
	text := fmt.Sprintf("waiting %s after %s: %v", humanize.Duration(left), times, last)
	return &obstacle{reason: WaitFailures, text: text, left: left, leftIsMinimum: true}
}

// hasMovedNothing reports whether it is certain that a failed move has moved nothing.
func hasMovedNothing(err error) bool {
	var refused *mongoerr.ServerError
	if !errors.As(err, &refused) || refused.Code == mongoerr.OrphanedRangeCleanUpFailed {
		return false
	}
	unsure := []mongoerr.Code{mongoerr.WriteConcernFailed, mongoerr.MaxTimeMSExpired, mongoerr.Interrupted,
		mongoerr.NetworkInterfaceExceededTimeLimit, mongoerr.CommandFailed}
	return !slices.Contains(unsure, refused.Code) && !refused.Code.InCategory("RetriableError")
}
