package cmdline

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/timespan"
)

// OptionalBool is a boolean option that may be unset.
type OptionalBool struct{ Given, On bool }

func (o *OptionalBool) String() string { return strconv.FormatBool(o.On) }

// Type returns the type of the value.
func (o *OptionalBool) Type() string { return typeBool }

// Set parses true or false.
func (o *OptionalBool) Set(text string) error {
	on, err := strconv.ParseBool(text)
	*o = OptionalBool{Given: true, On: on}
	return err
}

// OptionalBoolVar defines a boolean option that may be unset.
func OptionalBoolVar(f *pflag.FlagSet, c *OptionalBool, name, usage string) {
	f.VarPF(c, name, "", usage).NoOptDefVal = "true"
}

// Password is a password on the command line. Without a value, the program asks for it.
type Password struct {
	Given bool
	Value string
}

func (p *Password) String() string { return "" } // never shown

// Type returns the type of the value.
func (p *Password) Type() string { return typePassword }

// Set sets the password without parsing it.
func (p *Password) Set(text string) error {
	*p = Password{Given: true, Value: text}
	return nil
}

// The types of flags whose words are parsed in a special way.
const (
	typeBool     = "bool"
	typePassword = "password"
)

// Duration is a duration as in --timeout: a plain number is seconds.
type Duration time.Duration

func (d *Duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Type returns the type of the value.
func (d *Duration) Type() string { return "duration" }

// Set parses a positive duration.
func (d *Duration) Set(text string) error {
	parsed, err := timespan.ParseCommandLine(text)
	if err != nil || parsed <= 0 {
		return fmt.Errorf("%q is not a time above 0, such as 90, 30s, 5m or 1h30m", text)
	}
	*d = Duration(parsed)
	return nil
}
