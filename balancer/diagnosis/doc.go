// Package diagnosis answers from a catalog.Snapshot what an operator asks:
// what is balanced, what the balancer leaves alone, what drains, what failed,
// who has to act and with which command.
//
// It has two layers. Facts are typed values, each with one function that works
// it out (Balances, DrainOf, Zones, OutcomesSince, ...): helpers and reports show them in
// words of their own. Findings are the facts that are worth the operator's
// attention, in one form for all faces (Diagnose).
//
// Everything here is a function of the Snapshot. An overview, which has counts
// of chunks in place of routing tables, is enough for most of it; what a
// Snapshot does not report is not a finding.
package diagnosis
