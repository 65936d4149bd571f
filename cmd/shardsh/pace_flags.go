package main

import (
	_ "time/tzdata" // windows name time zones, and not every machine knows them

	"shardsh/balancer/pace"
)

// windowFlag is a time of the day in which moves begin; nil is always.
type windowFlag struct{ *pace.Window }

func (w *windowFlag) String() string { return "" }

// Type is shown in messages.
func (w *windowFlag) Type() string { return "window" }

// Set reads a window.
func (w *windowFlag) Set(text string) (err error) {
	w.Window, err = pace.ParseWindow(text, pace.MachineZone())
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
