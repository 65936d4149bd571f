//go:build unix

package safefile

import (
	"io/fs"
	"os"
	"syscall"
)

func hasTrustedOwner(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(of.Uid) == os.Getuid()
}
