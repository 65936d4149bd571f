// Package plan computes the splits, moves and merges that lead to a goal, in order, with reasons and
// numbers, before anything is changed. A Plan is a value: it can be displayed, saved in a file, and
// executed later on the cluster if the cluster has not changed.
package plan
