//go:build unix

package repl

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalTimeout is how long to wait at most for a signal that this process has sent to
// itself.
const signalTimeout = time.Second

// awaitSignals returns when the signals sent to this process so far have come:
// on a busy machine that takes a while, and one sent later, which this waits for,
// comes behind them.
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
