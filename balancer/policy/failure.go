package policy

import (
	"errors"
	"slices"
	"strings"

	"shardsh/balancer/mongoerr"
)

// FailureClass is the class of an error of a move, a split or a merge. It says how to proceed.
type FailureClass int

// These are the classes.
const (
	// AskOperator stops and asks the operator: a retry would fail in the same way.
	AskOperator FailureClass = iota
	// RetryNow is for a lost race: the catalog is read again, and the operation is retried.
	RetryNow
	// RetryLater is for temporary conditions.
	RetryLater
	// SkipRange skips the range: it can't be moved in its current state.
	SkipRange
)

// String returns the class in two words, as in metrics and JSON.
func (f FailureClass) String() string {
	return [...]string{"ask", "again now", "again later", "skip range"}[f]
}

// IsTransient reports whether a retry may succeed.
func (f FailureClass) IsTransient() bool { return f == RetryNow || f == RetryLater }

// FailureInfo is a row in the table of failures.
type FailureInfo struct {
	// Code is the server's error code; 0 for errors without a row.
	Code mongoerr.Code
	// MessagePart is a part of the error message, for codes that have several causes.
	MessagePart string
	Class       FailureClass
	// Meaning is a sentence. Remedy is what an operator can do.
	Meaning, Remedy string
}

// Failures returns the table of failures. For each code, rows with a MessagePart come first.
func Failures() []FailureInfo {
	return slices.Concat(raceFailures, temporaryFailures, rangeFailures, operatorFailures)
}

// FailureClassOf returns the class of an error (rules/02-migration-and-metadata §5.10). Errors that no
// server has sent are network errors, unless they have a method Failure() FailureClass.
func FailureClassOf(err error) FailureClass { return FailureInfoOf(err).Class }

// FailureInfoOf returns the row for an error.
func FailureInfoOf(err error) FailureInfo {
	var own interface{ Failure() FailureClass }
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
		case row.MessagePart != "" && strings.Contains(err.Error(), row.MessagePart):
			return row
		case row.MessagePart == "" && !found:
			best, found = row, true
		}
	}
	return best
}

var unreachableFailure = FailureInfo{Class: RetryLater,
	Meaning: "The server could not be reached.",
	Remedy:  "No action. If it goes on: check that all members run."}

// failureWithoutCode is for old checks of split and mergeChunks, which fail without a code, or through
// a mongos with UnknownError (rules/03-commands §0.2). All of these checks concern the range.
var failureWithoutCode = FailureInfo{Class: SkipRange,
	Meaning: "The server refuses this range; its message says why.", Remedy: "Read the message."}
