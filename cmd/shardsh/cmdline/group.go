package cmdline

import (
	"io"

	"github.com/spf13/pflag"
)

// Group is a section of the help.
type Group struct {
	Title string
	Flags *pflag.FlagSet
	// Page is the help page of options that many commands share; empty for options of one command.
	// ShortTitle is the short name of these options in references to the page.
	Page, ShortTitle string
}

// NewGroup returns a section; add defines its options.
func NewGroup(title string, add func(f *pflag.FlagSet)) Group {
	f := pflag.NewFlagSet(title, pflag.ContinueOnError)
	f.SortFlags = false
	add(f)
	return Group{Title: title, Flags: f}
}

// OnPage returns the group with its own help page.
func (g Group) OnPage(page, short string) Group {
	g.Page, g.ShortTitle = page, short
	return g
}

// Alias defines a hidden, older name of an option.
func Alias(f *pflag.FlagSet, old, name string) {
	now := f.Lookup(name)
	f.AddFlag(&pflag.Flag{Name: old, Value: now.Value, DefValue: now.DefValue, NoOptDefVal: now.NoOptDefVal, Hidden: true})
}

// All returns the options of all sections.
func All(groups []Group) *pflag.FlagSet {
	all := pflag.NewFlagSet("shardsh", pflag.ContinueOnError)
	all.SetOutput(io.Discard)
	for _, g := range groups {
		all.AddFlagSet(g.Flags)
	}
	return all
}
