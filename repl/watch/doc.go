// Package watch shows a cluster alive on a terminal: what moves and how fast, what
// shards hold, what is wrong, what happened last.
//
// A frame is a function of what was read and of the screen's size; the loop that
// reads, listens to keys and draws takes its clock and its screen from whoever
// runs it.
package watch
