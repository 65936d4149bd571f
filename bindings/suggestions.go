package bindings

import (
	"slices"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
)

// collectionCalledText returns the message for a call of a missing method: the name is that of a
// collection (rules/04-values-and-language §4.11). It returns an empty string for other messages.
func (s *Shell) collectionCalledText(message string) string {
	ns, ok := strings.CutPrefix(message, "Not a function: ")
	if !ok || s.current.DB == nil {
		return ""
	}
	db, name, ok := strings.Cut(ns, ".")
	if !ok || !s.current.DB.IsSiblingUsed(db) {
		return ""
	}
	proto := s.database.Prototypes.Database()
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		proto, name = s.database.Prototypes.Collection(), name[i+1:]
	}
	text := ns + " is a collection, not a function"
	if near := plaintext.Nearest(name, methodNames(proto)); near != "" {
		text += "; did you mean " + near + "()?"
	}
	return text
}

func methodNames(proto *goja.Object) []string {
	return slices.DeleteFunc(proto.GetOwnPropertyNames(), func(n string) bool { return strings.HasPrefix(n, "_") })
}

// suggestMethod returns "; did you mean METHOD?" for a method that one of the shell's objects does not
// have.
func (s *Shell) suggestMethod(on, method string) string {
	if near := plaintext.Nearest(method, s.completer.Methods(on)); near != "" {
		return "; did you mean " + on + "." + near + "()?"
	}
	return ""
}
