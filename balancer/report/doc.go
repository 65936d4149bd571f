// Package report shows a cluster as a whole: what is where, what is wrong, what
// has moved, what is to come. An Overview is all of its numbers, made of a
// Snapshot; a page shows it in a browser. Whatever else shows a cluster takes its
// numbers from an Overview, so that all say the same.
package report
