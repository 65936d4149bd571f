//go:build unix

package secret

import (
	"io/fs"
	"os"
	"syscall"
)

// isProvidedByRoot reports whether root owns a file while the process runs as another user. In that case,
// root has given the file to its group, as with secrets of Kubernetes.
func isProvidedByRoot(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Stat_t)
	return ok && of.Uid == 0 && os.Geteuid() != 0
}
