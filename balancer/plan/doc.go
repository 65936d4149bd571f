// Package plan says what would be done to a cluster before anything is: the
// splits, moves and merges that lead to a goal, in order, with their reasons and
// numbers. A Plan is a value: it can be shown, kept in a file, and carried out
// later on any cluster that is still as it was.
package plan
