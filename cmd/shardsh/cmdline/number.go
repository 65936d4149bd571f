package cmdline

import (
	"fmt"
	"strconv"
)

// Number is a non-negative number that may be unset.
type Number struct {
	N     uint64
	Given bool
}

// Set parses a number.
func (n *Number) Set(text string) (err error) {
	if n.N, err = strconv.ParseUint(text, 0, 63); err != nil {
		return fmt.Errorf("expected a non-negative integer, got %q", text)
	}
	n.Given = true
	return nil
}

// String returns the number; empty if it is unset.
func (n *Number) String() string {
	if !n.Given {
		return ""
	}
	return strconv.FormatUint(n.N, 10)
}

// Type returns the type of the value.
func (*Number) Type() string { return "number" }
