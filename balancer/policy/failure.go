package policy

import (
	"errors"

	"shardsh/balancer/mongoerr"
)

// Failure says what to do after a move, a split or a merge that failed.
type Failure int

// What to do.
const (
	// Ask stops and asks the operator: trying again would fail the same way.
	Ask Failure = iota
	// AgainNow is for what lost a race: the catalog is read anew, and it is tried
	// again.
	AgainNow
	// AgainLater is for what may be gone after a while.
	AgainLater
	// SkipRange leaves the range alone: it can't be moved as it is.
	SkipRange
)

// FailureOf returns what to do after an error (spec 02 §5.10). Those that no server
// sent are of the way there.
func FailureOf(err error) Failure {
	var refused *mongoerr.ServerError
	switch {
	case !errors.As(err, &refused):
		return AgainLater
	case TooBig(err):
		return SkipRange
	}
	return Ask
}
