// Package report presents the results of other packages: as pages, maps and machine-readable documents.
// It formats Snapshots, findings, plans and forecasts, and decides nothing about balancing itself.
//
// An Overview holds all numbers of a cluster. All presentations of a whole cluster use an Overview, so
// that they agree.
//
// All functions here depend only on their arguments.
package report
