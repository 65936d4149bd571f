// Package report has the faces of what other rooms work out: pages, maps,
// machine-readable results. It lays out what a Snapshot, its findings, plans and
// forecasts tell, and works nothing out about balancing itself.
//
// Everything here is a function of its arguments.
package report
