// Package node is as much of Node as scripts use: the modules fs, path, os, util,
// crypto, url and timers, process, console, Buffer and what browsers have too, and
// the functions about files that the shell has had before.
package node
