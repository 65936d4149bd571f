// Package price compares the ways in which a collection gets to a goal: what each takes, copies,
// needs on disks and blocks, and which one to take. It decides from a Snapshot, and does
// nothing.
package price
