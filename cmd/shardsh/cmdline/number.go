package cmdline

import (
	"fmt"
	"strconv"
)

// Number is a number from 0 that may not have been given.
type Number struct {
	N     uint64
	Given bool
}

// Set reads a number.
func (n *Number) Set(text string) (err error) {
	if n.N, err = strconv.ParseUint(text, 0, 63); err != nil {
		return fmt.Errorf("expected a non-negative integer, got %q", text)
	}
	n.Given = true
	return nil
}

// String returns the number, empty where none was given.
func (n *Number) String() string {
	if !n.Given {
		return ""
	}
	return strconv.FormatUint(n.N, 10)
}

// Type is what the flag takes.
func (*Number) Type() string { return "number" }
