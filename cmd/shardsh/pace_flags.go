package main

import (
	_ "time/tzdata" // windows name time zones, and not every machine knows them

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/pace"
)

// movesFlag and bytesFlag are limits; zero is the default.
type (
	movesFlag int
	bytesFlag int64
)

func (m *movesFlag) String() string { return "" }
func (b *bytesFlag) String() string { return "" }

// Type is shown in messages.
func (m *movesFlag) Type() string { return "number of moves" }

// Type is shown in messages.
func (b *bytesFlag) Type() string { return "size" }

// Set reads a number, or none.
func (m *movesFlag) Set(text string) error {
	n, err := action.ParseMoves(text)
	*m = movesFlag(n)
	return err
}

// Set reads a size, or none.
func (b *bytesFlag) Set(text string) error {
	n, err := action.ParseBytes(text)
	*b = bytesFlag(n)
	return err
}

// windowFlag is a time of the day in which moves begin; nil is always.
type windowFlag struct{ *pace.Window }

func (w *windowFlag) String() string { return "" }

// Type is shown in messages.
func (w *windowFlag) Type() string { return "window" }

// Set reads a window.
func (w *windowFlag) Set(text string) (err error) {
	w.Window, err = pace.ParseWindow(text, pace.LocalLocation())
	return err
}

// conditionFlag is when nothing begins; nil is never.
type conditionFlag struct{ *pace.Condition }

func (c *conditionFlag) String() string { return "" }

// Type is shown in messages.
func (c *conditionFlag) Type() string { return "condition" }

// Set reads a condition.
func (c *conditionFlag) Set(text string) (err error) {
	c.Condition, err = pace.ParseCondition(text)
	return err
}

// shareFlag is a share of something.
type shareFlag float64

func (s *shareFlag) String() string { return "" }

// Type is shown in messages.
func (s *shareFlag) Type() string { return "share" }

// Set reads a share.
func (s *shareFlag) Set(text string) error {
	share, err := pace.ParseShare(text)
	*s = shareFlag(share)
	return err
}

func addDiskLimitFlag(f *pflag.FlagSet, limit *shareFlag) {
	f.Var(limit, "disk-limit", "`85%` move nothing to a shard whose volume would be fuller")
}
