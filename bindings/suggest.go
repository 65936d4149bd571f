package bindings

import (
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// collectionCalled says what went wrong when a method that does not exist was
// called: its name is that of a collection then (spec 04 §4.11). Empty when the
// message is about something else.
func (s *Shell) collectionCalled(message string) string {
	ns, ok := strings.CutPrefix(message, "Not a function: ")
	if !ok || s.db == nil {
		return ""
	}
	database, name, ok := strings.Cut(ns, ".")
	if !ok || s.db.on.databases[database] == nil {
		return ""
	}
	proto := s.databasePrototype()
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		proto, name = s.collectionPrototype(), name[i+1:]
	}
	text := ns + " is a collection, not a function"
	if near := Nearest(name, s.methodNames(proto)); near != "" {
		text += "; did you mean " + near + "()?"
	}
	return text
}

func (s *Shell) methodNames(proto *goja.Object) []string {
	return slices.DeleteFunc(proto.GetOwnPropertyNames(), func(n string) bool { return strings.HasPrefix(n, "_") })
}

// Nearest is the name that takes the fewest changes to become the given one;
// empty when all take too many.
func Nearest(name string, names []string) string {
	best, least := "", len(name)/3+2
	for _, n := range names {
		if d := editDistance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// editDistance counts insertions, deletions and replacements.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
