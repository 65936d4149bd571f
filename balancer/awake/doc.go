// Package awake reads from connections whose peers answer at once, without going to
// sleep in between.
//
// Who waits for a message sleeps, and so does the CPU, if it has nothing else to do.
// To wake one up takes up to 50 µs, on virtual machines above all: as long as the mock
// takes for a command, or the shell between two of them. So who was answered soon looks
// for the next message for a moment before it sleeps, as locks do.
package awake
