//go:build race

package forecast_test

// usualClusters is how many are forecast in each run of the tests: with the race
// detector, which finds nothing in what starts no goroutine, few.
const usualClusters = 2
