// Package script is the shell's JavaScript engine: the programs that run in it
// (with top-level await, TypeScript and the words that are commands), the modules
// they load, the timers they set, the memory and depth they may take, the places
// and words of their errors, and the frame in which Go functions look like
// JavaScript's own: classes, arguments that are checked, help texts.
//
// It knows nothing of MongoDB but its values. Whoever makes an [Engine] defines
// what scripts see in it.
//
// An Engine belongs to one goroutine. What ends a running script from outside is
// the context given to [Engine.Eval] and its relatives. Methods that throw end the
// Go function that calls them with a JavaScript exception; only functions that a
// script called may use them.
package script
