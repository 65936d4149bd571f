package main

import (
	"strings"
	"unsafe"
)

// hidePasswords overwrites the passwords of connection strings in the memory
// that the system shows as this process's command line, so that ps does not
// tell them. The runtime makes os.Args point into that memory; where it does
// not, or where the memory can't be written, other systems included, nothing
// is lost but this. The arguments must have been copied before.
func hidePasswords(args []string) {
	for _, arg := range args {
		from, to, ok := passwordIn(arg)
		if !ok {
			continue
		}
		shown := unsafe.Slice(unsafe.StringData(arg), len(arg))
		for i := from; i < to; i++ {
			shown[i] = 'x'
		}
	}
}

// passwordIn finds the password of a connection string.
func passwordIn(arg string) (from, to int, ok bool) {
	_, rest, found := strings.Cut(arg, "://")
	if !found || !strings.HasPrefix(arg, "mongodb") {
		return 0, 0, false
	}
	start := len(arg) - len(rest)
	end := strings.LastIndex(rest, "@")
	colon := strings.Index(rest, ":")
	if end < 0 || colon < 0 || colon > end {
		return 0, 0, false
	}
	return start + colon + 1, start + end, true
}
