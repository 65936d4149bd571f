//go:build !race

package mock_test

// longRuns is how often long properties are tried: each time others, and with -rapid.checks more.
const longRuns = 8
