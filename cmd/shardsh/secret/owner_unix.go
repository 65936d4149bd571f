//go:build unix

package secret

import (
	"io/fs"
	"os"
	"syscall"
)

// givenByRoot reports whether a file is root's and we are not: its group has it then from who
// may do anything, as with secrets of Kubernetes.
func givenByRoot(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Stat_t)
	return ok && of.Uid == 0 && os.Geteuid() != 0
}
