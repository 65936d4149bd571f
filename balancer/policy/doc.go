// Package policy decides what a balancing round does to a collection: where chunks have to be split at
// zone boundaries, which ranges move between which shards, and whether the collection complies
// (rules/01-rounds-and-settings §5 to rules/01-selection §7).
//
// Everything here is a function of its arguments. Nothing reads a clock or
// talks to a cluster, so the same code runs a round, answers the status
// command, draws up a plan and explains itself. An explanation is collected in
// a Report, for those who pass one.
package policy
