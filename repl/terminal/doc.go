// Package terminal has the line editors of the interactive loop: one on a terminal,
// with history, completion and pasting, and one for input that is none.
package terminal
