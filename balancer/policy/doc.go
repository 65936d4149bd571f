// Package policy decides what a balancing round does to a collection: where chunks have to be split at
// zone boundaries, which ranges move between which shards, and whether the collection complies
// (rules/01-rounds-and-settings §5 to rules/01-selection §7).
//
// Everything here is a function of its arguments. Nothing reads a clock or communicates with a cluster,
// so the same code runs a round, answers the status command, makes a plan and explains decisions.
// Explanations are collected in a Report, if the caller passes one.
package policy
