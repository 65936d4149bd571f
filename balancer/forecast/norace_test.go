//go:build !race

package forecast_test

// usualClusters is how many are forecast in each run of the tests.
const usualClusters = 5
