// Package export converts the data of a cluster to Prometheus metrics with a bounded number of series:
// the worst collections have their own series, all others are summed.
package export
