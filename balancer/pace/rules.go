package pace

import (
	"fmt"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// LimitNote says where a limit comes from. A limit FromPolicy is not set by an option.
type LimitNote struct {
	Text       string
	FromPolicy bool
}

// reachedError returns the error for a run at a limit.
func (n LimitNote) reachedError(limit string) error {
	return &RunOverError{Why: "the limit of " + limit + " is reached" + n.Text, FromPolicy: n.FromPolicy}
}

// Rules decide when a move may begin. The zero Rules admit every move immediately, except after
// failures.
type Rules struct {
	// MaxMoves and MaxBytes limit the amount that this run moves. MaxTime limits the time in which
	// steps begin, including waits. Zero means no limit.
	MaxMoves int
	MaxBytes int64
	MaxTime  time.Duration
	// CountOnlyOpenTime excludes from MaxTime the time in which a window is shut or a hold keeps moves
	// from beginning, for work that takes several nights.
	CountOnlyOpenTime bool
	// MovesNote, BytesNote and TimeNote are appended to the message about a reached limit, and say who
	// has set the limit.
	MovesNote, BytesNote, TimeNote LimitNote
	// MovedBefore and SpentBefore are the amount that earlier runs of the same work have moved, and
	// their time. They count against the limits.
	MovedBefore MovedAmount
	SpentBefore time.Duration
	// PauseBetween is the wait after each move before the next move begins. FirstPause is the rest of that
	// wait after the last move of an earlier run.
	PauseBetween, FirstPause time.Duration
	// CoolDown is the time for which a range that was moved is not moved again. The code that chooses
	// moves enforces it; a Gate does not.
	CoolDown time.Duration
	// Window is the time of day in which moves begin; nil means always.
	Window *Window
	// WindowGroups contains further windows: one window of each slice has to be open.
	WindowGroups [][]*Window
	// PauseWhen is the condition under which no move begins; nil means never.
	PauseWhen *Condition
	// DiskLimit is the maximum fraction of its volume that a shard may fill by receiving chunks; zero
	// disables the check.
	DiskLimit float64
	// MaxFailures is the number of consecutive failures after which no move begins any more; zero means
	// 10.
	MaxFailures int
}

// Move is a move, or another step, with the properties that matter for the pace.
type Move struct {
	Namespace string
	Min, Max  catalog.Key // Max is zero if the donor chooses it
	From, To  catalog.ShardID
	Bytes     int64 // expected number of bytes to move
	// MaxBytes is the maximum number of bytes that it may move, as far as known. While other moves are
	// running, a move begins only if the maximum of all of them stays within the limit. Zero means
	// Bytes.
	MaxBytes int64
	// RoomBytes is the number of bytes that need room on the recipient's volume. Zero means Bytes.
	RoomBytes int64
	// WholeRange says that the whole range moves, so that its bytes can be counted.
	WholeRange bool
	// MovesNothing says that the step is a split or a merge, to which the limits of moves do not apply.
	MovesNothing bool
}

// StoppedByInterrupt is the reason for the stop of a run whose context has ended.
const StoppedByInterrupt = "interrupted"

// RunOverError says that no move begins any more, for a reason that is not an error.
type RunOverError struct {
	Why string
	// FromPolicy says that no option of the run changes this, since a policy sets the limit.
	FromPolicy bool
}

func (e *RunOverError) Error() string { return e.Why }

// OperatorNeededError says that no move begins any more until the operator has investigated the failures.
type OperatorNeededError struct {
	// InARow is the number of consecutive failures; 0 if one failure was enough.
	InARow int
	Err    error // the error of the last failure
}

// Error also names a remedy.
func (e *OperatorNeededError) Error() string {
	info := policy.FailureInfoOf(e.Err)
	text := fmt.Sprintf("%v. %s %s", e.Err, info.Meaning, info.Remedy)
	if e.InARow > 0 {
		return fmt.Sprintf("stopped after %d failures in a row, the last one: %s", e.InARow, text)
	}
	return text
}

// Unwrap returns the last failure.
func (e *OperatorNeededError) Unwrap() error { return e.Err }

// Failure returns policy.AskOperator.
func (e *OperatorNeededError) Failure() policy.FailureClass { return policy.AskOperator }
