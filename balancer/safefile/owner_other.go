//go:build !unix

package safefile

import "io/fs"

// isOwn is true, as only administrators make links on Windows.
func isOwn(fs.FileInfo) bool { return true }
