package cmdline

import "shardsh/balancer/catalog"

// Size is a number of bytes that may be unset.
type Size struct {
	Bytes int64
	Given bool
}

func (s *Size) String() string { return "" }

// Type returns the type of the value.
func (s *Size) Type() string { return "SIZE" }

// Set parses a size such as 512MiB.
func (s *Size) Set(text string) (err error) {
	s.Bytes, err = catalog.ParseSize(text)
	s.Given = err == nil
	return err
}
