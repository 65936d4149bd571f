package cmdline

import (
	"strings"

	"github.com/spf13/pflag"
)

// Command is the program, if its name is empty, or one of its subcommands.
type Command struct {
	Name      string
	Arguments string // in the form of the help
	About     string // a short description
	Text      HelpText
	Groups    []Group
}

// VisitVisible calls do for each option that the help shows, in the order of the help.
func (c Command) VisitVisible(do func(f *pflag.Flag)) {
	for _, g := range c.Groups {
		g.Flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				do(f)
			}
		})
	}
}

// Find returns the option with a name in any spelling, given without its value; nil for none. --no-x is
// x.
func (c Command) Find(word string) (found *pflag.Flag) {
	long, isLong := strings.CutPrefix(word, "--")
	folded := Fold(long)
	negated, _ := strings.CutPrefix(long, "no-")
	for _, g := range c.Groups {
		g.Flags.VisitAll(func(f *pflag.Flag) {
			switch {
			case isLong && (Fold(f.Name) == folded || f.Value.Type() == "bool" && Fold(f.Name) == Fold(negated)),
				!isLong && f.Shorthand != "" && word == "-"+f.Shorthand:
				found = f
			}
		})
	}
	return found
}

// ValueAndUsage returns the placeholder for an option's value, empty where the option takes none, and
// the description without it. The placeholder is the name in backquotes: at the beginning of the
// description it is removed, elsewhere it stays as a word.
func ValueAndUsage(f *pflag.Flag) (value, about string) {
	before, rest, found := strings.Cut(f.Usage, "`")
	if !found {
		return "", f.Usage
	}
	value, rest, _ = strings.Cut(rest, "`")
	if before == "" {
		rest, isList := strings.CutPrefix(rest, " ")
		if isList {
			return value, rest
		}
		return value, value + rest
	}
	return value, before + value + rest
}

// FlagForm returns an option with the placeholder for its value: --json[=canonical|relaxed]. It does
// not contain the one-letter form.
func FlagForm(f *pflag.Flag) string {
	value, _ := ValueAndUsage(f)
	switch {
	case value == "":
		return "--" + f.Name
	case f.NoOptDefVal != "":
		return "--" + f.Name + "[=" + value + "]"
	}
	return "--" + f.Name + " " + value
}
