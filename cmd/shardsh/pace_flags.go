package main

import (
	_ "time/tzdata" // windows name time zones, which not every machine knows

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/pace"
)

// movesFlag and bytesFlag are limits; zero means the default.
type (
	movesFlag int
	bytesFlag int64
)

func (m *movesFlag) String() string { return "" }
func (b *bytesFlag) String() string { return "" }

// Type returns the type of the value for messages.
func (m *movesFlag) Type() string { return "number of moves" }

// Type returns the type of the value for messages.
func (b *bytesFlag) Type() string { return "size" }

// Set parses a number, or none.
func (m *movesFlag) Set(text string) error {
	n, err := action.ParseMoves(text)
	*m = movesFlag(n)
	return err
}

// Set parses a size, or none.
func (b *bytesFlag) Set(text string) error {
	n, err := action.ParseBytes(text)
	*b = bytesFlag(n)
	return err
}

// windowFlag is the time of day in which moves may begin; nil means always.
type windowFlag struct{ *pace.Window }

func (w *windowFlag) String() string { return "" }

// Type returns the type of the value for messages.
func (w *windowFlag) Type() string { return "window" }

// Set parses a window.
func (w *windowFlag) Set(text string) (err error) {
	w.Window, err = pace.ParseWindow(text, pace.LocalLocation())
	return err
}

// conditionFlag is the condition under which no move begins; nil means none.
type conditionFlag struct{ *pace.Condition }

func (c *conditionFlag) String() string { return "" }

// Type returns the type of the value for messages.
func (c *conditionFlag) Type() string { return "condition" }

// Set parses a condition.
func (c *conditionFlag) Set(text string) (err error) {
	c.Condition, err = pace.ParseCondition(text)
	return err
}

// shareFlag is a share, such as 85%.
type shareFlag float64

func (s *shareFlag) String() string { return "" }

// Type returns the type of the value for messages.
func (s *shareFlag) Type() string { return "share" }

// Set parses a share.
func (s *shareFlag) Set(text string) error {
	share, err := pace.ParseShare(text)
	*s = shareFlag(share)
	return err
}

func addDiskLimitFlag(f *pflag.FlagSet, limit *shareFlag) {
	f.Var(limit, "disk-limit", "`85%` move nothing to a shard whose volume would be fuller")
}
