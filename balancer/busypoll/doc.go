// Package busypoll reads from connections whose peers answer at once without sleeping
// between two messages.
//
// A goroutine that waits for a message sleeps, and so does its CPU if nothing else runs.
// Waking a CPU up takes up to 50 µs, most of all on virtual machines: as long as the mock
// takes for a command, or the shell between two commands. A connection whose peer answers
// quickly therefore polls for the next message for a moment before it sleeps, as spinning
// locks do. The package uses only what the standard library exports.
package busypoll
