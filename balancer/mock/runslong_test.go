//go:build !race

package mock_test

// longRuns is how often long properties are tried.
const longRuns = 15
