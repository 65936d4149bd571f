//go:build unix

package repl

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalTimeout is how long to wait for a signal that this process has sent to itself.
const signalTimeout = time.Second

// awaitSignals waits until all signals that were sent to this process so far have arrived, which takes
// time on a busy machine. It sends another signal, which arrives after them, and waits for that one.
func awaitSignals() {
	marker := make(chan os.Signal, 1)
	signal.Notify(marker, syscall.SIGCONT)
	defer signal.Stop(marker)
	if syscall.Kill(os.Getpid(), syscall.SIGCONT) != nil {
		return
	}
	select {
	case <-marker:
	case <-time.After(signalTimeout):
	}
}
