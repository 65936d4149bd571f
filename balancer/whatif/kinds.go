package whatif

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ChangeKind is a kind of change. Its name is that of a method in JavaScript and of a
// word on the command line.
type ChangeKind struct {
	Name        string
	Description string
	Example     string // as on the command line
	forms       []usageForm
}

// usageForm is a way to write a change: what its arguments are, and what makes it of as
// many words.
type usageForm struct {
	params  string
	newEdit func(words []string) (edit, error)
}

func (f usageForm) paramNames() []string { return strings.Fields(f.params) }

// Usage returns the ways to write the change, as on the command line.
func (k ChangeKind) Usage() string {
	ways := make([]string, len(k.forms))
	for i, f := range k.forms {
		ways[i] = strings.TrimSpace(k.Name + " " + f.params)
	}
	return strings.Join(ways, " | ")
}

// newEdit makes a change of words.
func (k ChangeKind) newEdit(words []string) (edit, error) {
	if slices.Contains(words, "") {
		return nil, errors.New("an argument is empty")
	}
	for _, f := range k.forms {
		if len(f.paramNames()) == len(words) {
			return f.newEdit(words)
		}
	}
	if len(words) == 1 {
		return nil, errors.New("got 1 argument")
	}
	return nil, fmt.Errorf("got %d arguments", len(words))
}

// ChangeKinds returns all kinds of changes, in the order of a help text.
func ChangeKinds() []ChangeKind {
	return slices.Concat(shardKinds(), zoneKinds(), settingKinds(), collectionKinds(), goalKinds())
}
