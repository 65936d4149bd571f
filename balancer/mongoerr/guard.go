package mongoerr

import (
	"log/slog"
	"runtime/debug"
)

// Guard runs work and returns its error. A panic becomes an InternalError that
// names the work, and goes to the log with its stack: a mistake of the program
// ends what is at hand, not the process and all that others have in it. A nil
// log hears nothing.
func Guard(log *slog.Logger, what string, work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if log != nil {
				log.Error("the program has panicked", "in", what, "panic", p, "stack", string(debug.Stack()))
			}
			err = New(InternalError, "%s failed: %v", what, p)
		}
	}()
	return work()
}
