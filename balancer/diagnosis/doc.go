// Package diagnosis derives from a catalog.Snapshot the answers to an operator's questions: what is
// balanced, what the balancer skips, what drains, what failed, who has to act and with which command.
//
// It has two layers. Facts are typed values, each computed by one function (Balances, DrainOf, Zones,
// OutcomesSince, ...); helpers and reports describe them in their own words. Findings are the facts
// that deserve the operator's attention, in one form for all commands and reports (Diagnose).
//
// Everything here is a function of the Snapshot. An overview, which has chunk counts in place of
// routing tables, is enough for most of it. What a Snapshot does not contain does not become a finding.
package diagnosis
