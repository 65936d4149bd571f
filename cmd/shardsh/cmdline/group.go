package cmdline

import (
	"io"

	"github.com/spf13/pflag"
)

// Group is a section of the help.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// NewGroup makes a section; add defines its options.
func NewGroup(title string, add func(f *pflag.FlagSet)) Group {
	f := pflag.NewFlagSet(title, pflag.ContinueOnError)
	f.SortFlags = false
	add(f)
	return Group{title, f}
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
