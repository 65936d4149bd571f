package cmdline

import (
	"strconv"

	"github.com/spf13/pflag"
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
