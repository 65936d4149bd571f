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

// How long to wait after failures: twice as long each time.
const (
	firstWait = time.Second
	maxWait   = 5 * time.Minute
	// maxFailures in a row are enough, unless told otherwise.
	maxFailures = 10
)

// pair is the two shards of a move.
type pair struct{ from, to catalog.ShardID }

// failures keep the moves apart that fail again and again.
type failures struct {
	most  int
	inRow int // whatever their shards
	until time.Time
	last  error
	pairs map[pair]*pairFailures
	ask   error
	count map[policy.Failure]int
}

type pairFailures struct {
	inRow int
	until time.Time
	last  error
}

func newFailures(most int) failures {
	return failures{most: cmp.Or(most, maxFailures), pairs: map[pair]*pairFailures{}, count: map[policy.Failure]int{}}
}

// add notes a failure. What is too big is none: it is split, or left alone.
func (f *failures) add(m Move, err error, now time.Time) {
	class := policy.FailureOf(err)
	f.count[class]++
	if class == policy.AskOperator {
		f.ask = &AskError{Err: err}
		return
	}
	if policy.IsTooBig(err) {
		return
	}
	f.last = err
	if f.inRow++; f.inRow >= f.most {
		f.ask = &AskError{InARow: f.inRow, Err: err}
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
		tries-- // once at once
	}
	p.until = now.Add(waitAfter(tries))
	f.until = now.Add(waitAfter(f.inRow - 1)) // one is the pair's own business
}

// none notes a success.
func (f *failures) none(m Move) {
	f.inRow, f.until, f.last = 0, time.Time{}, nil
	delete(f.pairs, pair{m.From, m.To})
}

// waitAfter is how long to wait after so many failures in a row.
func waitAfter(n int) time.Duration {
	switch {
	case n <= 0:
		return 0
	case n > 9: // beyond which it is the most
		return maxWait
	}
	return min(firstWait<<(n-1), maxWait)
}

// obstacle says how long failures keep a move from beginning.
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
	return &obstacle{reason: Failing, text: text, left: left, sure: true}
}

// isCertain reports whether a move that failed with an error has moved nothing.
func isCertain(err error) bool {
	var refused *mongoerr.ServerError
	if !errors.As(err, &refused) || refused.Code == mongoerr.OrphanedRangeCleanUpFailed {
		return false
	}
	unsure := []mongoerr.Code{mongoerr.WriteConcernFailed, mongoerr.MaxTimeMSExpired, mongoerr.Interrupted,
		mongoerr.NetworkInterfaceExceededTimeLimit, mongoerr.CommandFailed}
	return !slices.Contains(unsure, refused.Code) && !refused.Code.InCategory("RetriableError")
}
