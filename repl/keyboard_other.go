//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package repl

import "github.com/peterh/liner"

// keyboard: here liner reads the terminal itself.
type keyboard struct{}

const stopMark = ""

func newKeyboard(func(string) string) (*liner.State, *keyboard) { return liner.NewLiner(), nil }

func (*keyboard) begin()          {}
func (*keyboard) end(string) bool { return false }
func (*keyboard) rest()           {}
