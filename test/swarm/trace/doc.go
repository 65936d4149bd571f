// Package trace defines the record of one swarm run, and the rules for it.
//
// A checker is a pure function from events to violations. It uses only the events, so the same checkers
// can also check traces that were written by hand.
package trace
