//go:build unix

package watch

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// suspendTimeout is how long to wait for the stop: a process without a parent shell is not stopped.
const suspendTimeout = 200 * time.Millisecond

// notifyResize sends on resized when the terminal's size changes.
func notifyResize(resized chan<- struct{}) (stop func()) {
	signals := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-signals:
				select {
				case resized <- struct{}{}:
				default: // a signal is already pending
				}
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// suspend stops the process, as Ctrl-Z does for other programs, until it continues.
func (t *Terminal) suspend() {
	t.lend(func() {
		goesOn := make(chan os.Signal, 1)
		signal.Notify(goesOn, syscall.SIGCONT)
		defer signal.Stop(goesOn)
		if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
			return
		}
		select {
		case <-goesOn:
		case <-time.After(suspendTimeout):
		}
	})
}
