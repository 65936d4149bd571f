// Package script implements the shell's JavaScript engine: the programs (with top-level await,
// TypeScript and command lines), their modules, timers, limits of memory and depth, and the positions
// and messages of errors. It also makes Go functions look like JavaScript functions, with classes,
// checked arguments and help texts.
//
// The package uses no parts of MongoDB except BSON values. The creator of an [Engine] defines the
// objects that scripts use.
//
// An Engine belongs to one goroutine. To end a running script from outside, cancel the context given to
// [Engine.Eval] and related methods. Methods that throw end the calling Go function with a JavaScript
// exception; only functions called by a script may use them.
package script
