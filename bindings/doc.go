// Package bindings implements the shell: the objects that scripts use — db, collections, cursors, rs,
// mock, assert and others, one file for each object. It connects the packages that they are built on:
//
//   - script runs programs, values converts BSON to and from JavaScript,
//   - server sends commands through the official driver's client, to a real
//     cluster or to a mock cluster in this process,
//   - display formats values, complete completes inputs,
//   - node provides the parts of Node for scripts, and sh the helpers for sharded clusters.
//
// Calls block: scripts do not have to await them (rules/04-values-and-language §4.2).
//
// A [Shell] belongs to one goroutine. To end a running script from outside, cancel the context given to
// [Shell.Eval] and related methods.
package bindings
