package live

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// GoneByKernel reports whether a holder's process counts as gone where /proc shows no other
// process than this one, and the kernel answers a signal so.
func GoneByKernel(t *testing.T, h Holder, answer error) bool {
	t.Helper()
	proc := t.TempDir()
	room, _, _ := strings.Cut(h.Process, " ")
	boot, space, _ := strings.Cut(room, "/")
	self := strconv.Itoa(os.Getpid())
	for _, err := range []error{
		os.MkdirAll(proc+"/sys/kernel/random", 0o700), os.MkdirAll(proc+"/"+self+"/ns", 0o700),
		os.WriteFile(proc+"/sys/kernel/random/boot_id", []byte(boot), 0o600),
		os.Symlink(space, proc+"/"+self+"/ns/pid"), os.Symlink(self, proc+"/self"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return processes{proc, os.Hostname, func(int, syscall.Signal) error { return answer }}.hasEnded(h)
}

// SelfUnder returns the id of this process as a mount of /proc shows it.
func SelfUnder(proc string) string { return processes{proc: proc}.selfID() }
