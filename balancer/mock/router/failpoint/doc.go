// Package failpoint is the fail points of a mongos that drivers' tests use: which
// command fails next, how, and how often still.
package failpoint
