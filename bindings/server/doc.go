// Package server sends the shell's commands to MongoDB. It handles connections and their sessions,
// retries of reads and writes, the guard that may reject a command, the interruption of a running
// command, and the conversion of the server's errors to JavaScript.
package server
