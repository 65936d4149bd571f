//go:build race

package apply_test

// usualPart divides the usual number of random cases: with the race detector each
// is ten times as slow.
const usualPart = 3
