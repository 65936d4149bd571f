package whatif

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ChangeKind is a kind of change. Its name is a method in JavaScript and a word on the command line.
type ChangeKind struct {
	Name        string
	Description string
	Example     string // in the syntax of the command line
	forms       []usageForm
}

// usageForm is one form of a change: its arguments, and a function that makes an edit of that many
// words.
type usageForm struct {
	params  string
	newEdit func(words []string) (edit, error)
}

func (f usageForm) paramNames() []string { return strings.Fields(f.params) }

// Usage returns the forms of the change in the syntax of the command line.
func (k ChangeKind) Usage() string {
	ways := make([]string, len(k.forms))
	for i, f := range k.forms {
		ways[i] = strings.TrimSpace(k.Name + " " + f.params)
	}
	return strings.Join(ways, " | ")
}

// newEdit returns the edit for the words of a change.
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

// ChangeKinds returns all kinds of changes, in the order of the help text.
func ChangeKinds() []ChangeKind {
	return slices.Concat(shardKinds(), zoneKinds(), settingKinds(), collectionKinds(), goalKinds())
}
