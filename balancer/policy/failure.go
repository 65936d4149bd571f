package policy

import (
	"errors"
	"slices"
	"strings"

	"shardsh/balancer/mongoerr"
)

// Failure says what to do after a move, a split or a merge that failed.
type Failure int

// What to do.
const (
	// AskOperator stops and asks the operator: trying again would fail the same way.
	AskOperator Failure = iota
	// RetryNow is for a lost race: the catalog is read again, and the operation is tried
	// again.
	RetryNow
	// RetryLater is for temporary conditions.
	RetryLater
	// SkipRange leaves the range alone: it can't be moved as it is.
	SkipRange
)

// String is the class in two words, as metrics and JSON have it.
func (f Failure) String() string {
	return [...]string{"ask", "again now", "again later", "skip range"}[f]
}

// IsTransient reports whether a retry may succeed.
func (f Failure) IsTransient() bool { return f == RetryNow || f == RetryLater }

// FailureInfo is a row of the table of failures.
type FailureInfo struct {
	// Code is that of the server, and 0 of what no row is about.
	Code mongoerr.Code
	// Text is what the message has in it where the code alone does not tell.
	Text  string
	Class Failure
	// Meaning is a sentence, and Remedy what an operator can do.
	Meaning, Remedy string
}

// Failures returns the table of failures, those of one code with the texts first.
func Failures() []FailureInfo {
	return slices.Concat(raceFailures, laterFailures, rangeFailures, askFailures)
}

// FailureOf returns what to do after an error (rules/02-migration-and-metadata §5.10). Those that no
// server sent are network errors, unless they say otherwise themselves: with a method Failure()
// Failure.
func FailureOf(err error) Failure { return FailureInfoOf(err).Class }

// FailureInfoOf returns the row that an error is of.
func FailureInfoOf(err error) FailureInfo {
	var own interface{ Failure() Failure }
	var refused *mongoerr.ServerError
	switch {
	case errors.As(err, &own):
		return FailureInfo{Class: own.Failure(), Meaning: err.Error(), Remedy: noActionNeeded}
	case !errors.As(err, &refused):
		return unreachableFailure
	case refused.NoCode:
		return failureWithoutCode
	}
	best := FailureInfo{Code: refused.Code, Class: AskOperator, Meaning: "An unknown error.",
		Remedy: "Look it up, and read the logs of the shards involved."}
	if refused.Code.InCategory("RetriableError") || refused.Code.InCategory("NotPrimaryError") ||
		refused.Code.InCategory("NetworkError") {
		best.Class, best.Meaning, best.Remedy = RetryLater, unreachableFailure.Meaning, unreachableFailure.Remedy
	}
	found := false
	for _, row := range Failures() {
		switch {
		case row.Code != refused.Code:
		case row.Text != "" && strings.Contains(err.Error(), row.Text):
			return row
		case row.Text == "" && !found:
			best, found = row, true
		}
	}
	return best
}

var unreachableFailure = FailureInfo{Class: RetryLater,
	Meaning: "The server could not be reached.",
	Remedy:  "No action. If it goes on: check that all members run."}

// failureWithoutCode is for old checks of split and mergeChunks, which answer without a code,
// or through a mongos with UnknownError (rules/03-commands §0.2). All of them are about
// the range.
var failureWithoutCode = FailureInfo{Class: SkipRange,
	Meaning: "The server refuses this range; its message says why.", Remedy: "Read the message."}
