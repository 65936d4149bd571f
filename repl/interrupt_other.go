//go:build !unix

package repl

// awaitSignals has nothing to wait for: here Ctrl-C is not a signal among others.
func awaitSignals() {}
