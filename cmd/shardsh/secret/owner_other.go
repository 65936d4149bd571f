//go:build !unix

package secret

import "io/fs"

// givenByRoot returns false: this system has no root.
func givenByRoot(fs.FileInfo) bool { return false }
