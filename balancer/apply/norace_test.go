//go:build !race

package apply_test

// usualPart divides the usual number of random cases.
const usualPart = 1
