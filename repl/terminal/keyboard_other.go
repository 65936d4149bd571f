//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package terminal

import "github.com/peterh/liner"

// keyboard is empty: on this system, liner reads the terminal itself.
type keyboard struct{}

const stopMark = ""

func newKeyboard(func(string) string) (*liner.State, *keyboard) { return liner.NewLiner(), nil }

func (*keyboard) begin(bool)                   {}
func (*keyboard) end(string) bool              { return false }
func (*keyboard) leavePasteMode()              {}
func (*keyboard) noteCompletions(int)          {}
func (*keyboard) printIfUntouched(func()) bool { return false }
