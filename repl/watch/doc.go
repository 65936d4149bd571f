// Package watch shows a live view of a cluster on a terminal: moves and their rates, the data on
// shards, problems, and the latest events.
//
// A frame is a function of the read data and of the screen's size. The loop that reads, handles keys
// and draws gets its clock and its screen from its caller.
package watch
