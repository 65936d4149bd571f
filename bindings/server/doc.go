// Package server is the way of a shell's commands to MongoDB: connections and the
// sessions their commands belong to, reads and writes that are sent twice where
// that does no harm, the guard that may refuse a command, the end of a script in
// the midst of one, and the server's errors as JavaScript knows them.
package server
