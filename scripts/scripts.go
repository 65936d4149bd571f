// Package scripts holds the maintenance scripts that ship with shardsh. Each
// is also a file that can be run as it is.
package scripts

import "embed"

// Files are the scripts, by name.
//
//go:embed *.js
var Files embed.FS
