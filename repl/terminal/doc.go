// Package terminal implements the line editors of the interactive loop: one for a terminal, with
// history, completion and pasting, and one for other inputs.
package terminal
