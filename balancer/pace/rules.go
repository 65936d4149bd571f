package pace

import (
	"fmt"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// LimitNote says where a limit comes from. A Fixed one is not set by an option.
type LimitNote struct {
	Text  string
	Fixed bool
}

// reachedError is the error of a run at a limit.
func (n LimitNote) reachedError(limit string) error {
	return &OverError{Why: "the limit of " + limit + " is reached" + n.Text, Fixed: n.Fixed}
}

// Rules say when a move may begin. The zero Rules let every move begin at once,
// but for failures.
type Rules struct {
	// MaxMoves and MaxBytes bound what this run moves, MaxTime how long it begins
	// anything, waits included. Zero means no limit.
	MaxMoves int
	MaxBytes int64
	MaxTime  time.Duration
	// OnlyWorkingTime excludes from MaxTime the time in which a window is shut or a hold keeps moves from
	// beginning: for work that takes several nights.
	OnlyWorkingTime bool
	// The notes say after that a limit is reached whose it is.
	MovesNote, BytesNote, ForNote LimitNote
	// MovedBefore and Spent are what earlier runs of the same work have moved, and for how long:
	// they count against the limits.
	MovedBefore Done
	SpentBefore time.Duration
	// Pause is how long to wait after each move before the next begins, FirstPause what is left of
	// that since the last move of an earlier run.
	Pause, FirstPause time.Duration
	// CoolDown is how long a range that was moved is left alone, by whoever chooses
	// what moves: a Gate takes any.
	CoolDown time.Duration
	// Window is when moves begin; nil is always.
	Window *Window
	// Hours are more windows: one of each list has to be open.
	Hours [][]*Window
	// PauseWhen is when none begins; nil is never.
	PauseWhen *Condition
	// DiskLimit is the share of its volume that no shard may fill by what it receives; zero
	// does not ask.
	DiskLimit float64
	// MaxFailures is after how many failures in a row nothing begins any more; zero
	// is 10.
	MaxFailures int
}

// Move is a move, or another step of some shards, as far as the pace goes by it.
type Move struct {
	Namespace string
	Min, Max  catalog.Key // Max is zero where the donor chooses it
	From, To  catalog.ShardID
	Bytes     int64 // what it is expected to move
	// MaxBytes is what it may move, as far as anybody knows: beside moves under way another
	// one begins only if all of them may move so much. Zero is Bytes.
	MaxBytes int64
	// RoomBytes is what has to have room on the recipient's volume. Zero is Bytes.
	RoomBytes int64
	// WholeRange tells that all of the range moves: what has to have room can be counted.
	WholeRange bool
	// MovesNothing tells that nothing moves: a split or a merge, which the limits of moves
	// do not count.
	MovesNothing bool
}

// OverError says that nothing begins any more, for a reason that is not a mistake.
type OverError struct {
	Why string
	// Fixed tells that no option of the run lifts it: the limit is that of a policy.
	Fixed bool
}

func (e *OverError) Error() string { return e.Why }

// AskError says that nothing begins any more before somebody has looked into the
// failures.
type AskError struct {
	// InARow is how many moves have failed since the last one that did not; 0 when
	// one failure was enough.
	InARow int
	Err    error // of the last one
}

// Error says what to do, too.
func (e *AskError) Error() string {
	info := policy.FailureInfoOf(e.Err)
	text := fmt.Sprintf("%v. %s %s", e.Err, info.Meaning, info.Remedy)
	if e.InARow > 0 {
		return fmt.Sprintf("stopped after %d failures in a row, the last one: %s", e.InARow, text)
	}
	return text
}

// Unwrap returns the last failure.
func (e *AskError) Unwrap() error { return e.Err }

// Failure says that the operator is to be asked.
func (e *AskError) Failure() policy.Failure { return policy.AskOperator }
