// Package bindings is the shell: the objects that scripts see — db, collections,
// cursors, rs, mock, assert and the rest, one file an object — and the wiring of
// the rooms they rest on:
//
//   - script runs programs, values has BSON in JavaScript,
//   - server sends commands through the official driver's client, whether the
//     cluster is real or in this process,
//   - display shows values, complete finishes inputs,
//   - node has what scripts know from Node, and sh the helpers for sharded clusters.
//
// Calls block: there is nothing to await (rules/04-values-and-language §4.2).
//
// A [Shell] belongs to one goroutine. What ends a running script from outside is
// the context given to [Shell.Eval] and its relatives.
package bindings
