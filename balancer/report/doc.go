// Package report has the faces of what other rooms work out: pages, maps,
// machine-readable results. It lays out what a Snapshot, its findings, plans and
// forecasts tell, and works nothing out about balancing itself.
//
// An Overview is all of a cluster's numbers; whatever shows a whole cluster takes
// them from there, so that all say the same.
//
// Everything here is a function of its arguments.
package report
