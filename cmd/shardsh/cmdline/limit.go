package cmdline

import (
	"fmt"
	"strconv"
)

// Limit is a flag with a number from 0, where 0 is no limit.
type Limit struct {
	N     int
	Given bool
}

// Set reads the number.
func (l *Limit) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("expected a number from 0, not %q", text)
	}
	l.N, l.Given = n, true
	return nil
}

// String returns the number, empty where none was given.
func (l *Limit) String() string {
	if !l.Given {
		return ""
	}
	return strconv.Itoa(l.N)
}

// Type is the name of the kind of value.
func (*Limit) Type() string { return "limit" }
