// Package sim runs the balancer's engine on a catalog.Snapshot in virtual time. Plans, forecasts and
// what-if runs use it to predict what would happen.
//
// The engine is the one that works on real clusters; only the cluster is simulated. A snapshot does not
// contain the distribution of data inside chunks and the durations of operations, so the caller chooses
// a model for them (ContentsModel, Costs). A run reads no clock, does no I/O and starts no goroutine.
// Equal configurations give equal runs.
package sim
