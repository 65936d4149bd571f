// Package bindings is the JavaScript side of the shell: the runtime scripts run
// in and every object they see — db, collections, cursors, sh, print, assert
// and the rest — one file an object.
//
// Whatever a script asks of a cluster goes through the official driver's
// client, whether the cluster is real or in this process. Calls block: there is
// nothing to await (spec 04 §4.2).
//
// A Shell belongs to one goroutine. What ends a running script from outside is
// the context given to [Shell.Eval] and its relatives.
package bindings
