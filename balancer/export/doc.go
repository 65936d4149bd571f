// Package export turns what was read of a cluster into metrics for Prometheus, with a
// bounded number of series: of the worst collections each has its own, the rest are summed.
package export
