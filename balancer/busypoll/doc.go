// Package busypoll reads from connections whose peers reply at once, without sleeping between two
// messages.
//
// A goroutine that waits for a message sleeps, and so does its CPU if it has no other work. To wake a
// CPU takes up to 50 µs, most of all on virtual machines. This is as long as the mock needs for a
// command, or the shell between two commands. A connection whose peer replies quickly therefore polls
// for the next message for a moment before it sleeps, as spinlocks do. The package uses only the
// exported parts of the standard library.
package busypoll
