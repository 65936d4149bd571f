package pace

import (
	"time"

	"shardsh/balancer/catalog"
)

// Rules say when a move may begin. The zero Rules let every move begin at once.
type Rules struct {
	// MaxMoves and MaxBytes bound what this run moves, For how long it begins
	// anything. Zero is no limit.
	MaxMoves int
	MaxBytes int64
	For      time.Duration
	// Pause is how long to wait after each move before the next begins.
	Pause time.Duration
	// CoolDown is how long a range that was moved is left alone.
	CoolDown time.Duration
}

// Move is a move as far as the pace goes by it.
type Move struct {
	Namespace string
	Min, Max  catalog.Key // Max is zero where the donor chooses it
	From, To  catalog.ShardID
	Bytes     int64 // what it is expected to move
}

// OverError says that nothing begins any more, for a reason that is no mistake.
type OverError struct{ Why string }

func (e *OverError) Error() string { return e.Why }
