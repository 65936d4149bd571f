// Package trace is what the swarm records of one run, and the rules that a record must keep.
//
// A checker is a pure function from events to violations. It sees nothing but the events, so
// the same checkers also judge traces that were written by hand.
package trace
