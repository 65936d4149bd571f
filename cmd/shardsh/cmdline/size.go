package cmdline

import "shardsh/balancer/catalog"

// Size is a number of bytes that may not have been given.
type Size struct {
	Bytes int64
	Given bool
}

func (s *Size) String() string { return "" }

// Type is what the flag takes.
func (s *Size) Type() string { return "SIZE" }

// Set reads a size like 512MiB.
func (s *Size) Set(text string) (err error) {
	s.Bytes, err = catalog.ParseSize(text)
	s.Given = err == nil
	return err
}
