//go:build race

package mock_test

// longRuns is how often long properties are tried. The race detector makes
// them ten times as long, and finds in a few what it finds in many.
const longRuns = 4
