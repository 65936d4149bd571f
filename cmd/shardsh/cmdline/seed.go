package cmdline

import "strconv"

// Seed is a random seed that may not have been given.
type Seed struct {
	N     uint64
	Given bool
}

func (s *Seed) String() string { return strconv.FormatUint(s.N, 10) }

// Type is what the flag takes.
func (s *Seed) Type() string { return "uint64" }

// Set reads a number.
func (s *Seed) Set(text string) (err error) {
	s.N, err = strconv.ParseUint(text, 0, 64)
	s.Given = err == nil
	return err
}
