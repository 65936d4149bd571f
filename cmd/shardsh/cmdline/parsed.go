package cmdline

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/timespan"
)

// parsed is an option's value that a function parses.
type parsed[T any] struct {
	to    *T
	parse func(text string) (T, error)
}

func (parsed[T]) String() string { return "" }

// Type returns the type of the value.
func (parsed[T]) Type() string { return "parsed" }

// Set parses the value.
func (p parsed[T]) Set(text string) (err error) {
	*p.to, err = p.parse(text)
	return err
}

// ParsedVar defines an option whose value is parsed by a function.
func ParsedVar[T any](f *pflag.FlagSet, to *T, name, usage string, parse func(text string) (T, error)) {
	f.Var(parsed[T]{to, parse}, name, usage)
}

// Optional is the value of an option that may be unset.
type Optional[T any] struct {
	IsSet bool
	Value T
}

// OptionalVar defines an option that may be unset, and whose value is parsed by a function.
func OptionalVar[T any](f *pflag.FlagSet, to *Optional[T], name, usage string, parse func(text string) (T, error)) {
	ParsedVar(f, to, name, usage, func(text string) (Optional[T], error) {
		v, err := parse(text)
		return Optional[T]{true, v}, err
	})
}

// DurationVar defines an option with a duration as in --timeout: a plain number is seconds.
func DurationVar(f *pflag.FlagSet, to *time.Duration, name, usage string) {
	ParsedVar(f, to, name, usage, ParseDuration)
}

// ParseDuration parses a positive duration.
func ParseDuration(text string) (time.Duration, error) {
	d, err := timespan.ParseCommandLine(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time above 0, such as 90, 30s, 5m or 1h30m", text)
	}
	return d, nil
}

// ParseDurationOrZero parses a duration, or 0.
func ParseDurationOrZero(text string) (time.Duration, error) {
	if text == "0" || text == "0s" {
		return 0, nil
	}
	return ParseDuration(text)
}

// ParseNumber parses a non-negative integer.
func ParseNumber(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 63)
	if err != nil {
		return 0, fmt.Errorf("expected a non-negative integer, got %q", text)
	}
	return n, nil
}
