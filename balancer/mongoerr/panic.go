package mongoerr

import (
	"log/slog"
	"runtime/debug"
)

// CatchPanic runs work and returns its error. A panic becomes an InternalError that
// names the work, and is logged with its stack: a bug in the program
// fails one operation, not the whole process. A nil
// log disables logging.
func CatchPanic(log *slog.Logger, what string, work func() error) (err error) {
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
