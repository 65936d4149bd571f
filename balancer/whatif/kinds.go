package whatif

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of change. Its name is that of a method in JavaScript and of a
// word on the command line.
type Kind struct {
	Name    string
	About   string
	Example string // as on the command line
	forms   []form
}

// form is a way to write a change: what its arguments are, and what makes it of as
// many words.
type form struct {
	params string
	make   func(words []string) (edit, error)
}

func (f form) names() []string { return strings.Fields(f.params) }

// Usage returns the ways to write the change, as on the command line.
func (k Kind) Usage() string {
	ways := make([]string, len(k.forms))
	for i, f := range k.forms {
		ways[i] = strings.TrimSpace(k.Name + " " + f.params)
	}
	return strings.Join(ways, " | ")
}

// edit makes a change of words.
func (k Kind) edit(words []string) (edit, error) {
	if slices.Contains(words, "") {
		return nil, errors.New("an argument is empty")
	}
	for _, f := range k.forms {
		if len(f.names()) == len(words) {
			return f.make(words)
		}
	}
	if len(words) == 1 {
		return nil, errors.New("got 1 argument")
	}
	return nil, fmt.Errorf("got %d arguments", len(words))
}

// Kinds returns all kinds of changes, in the order of a help text.
func Kinds() []Kind {
	return slices.Concat(shardKinds(), zoneKinds(), settingKinds(), collectionKinds(), goalKinds())
}
