//go:build !unix

package repl

// awaitSignals does nothing: on this system, Ctrl-C is not a signal that can be ordered with others.
func awaitSignals() {}
