//go:build !unix

package secret

import "io/fs"

// isProvidedByRoot returns false: this system has no root.
func isProvidedByRoot(fs.FileInfo) bool { return false }
