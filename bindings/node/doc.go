// Package node implements the parts of Node that scripts use: the modules fs, path, os, util, crypto,
// url and timers, process, console, Buffer, APIs that browsers also have, and the file functions of the
// old shell.
package node
