package script

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/dop251/goja"
)

const (
	// memoryGrace is how long a program may run before its memory is watched.
	memoryGrace = 100 * time.Millisecond
	// memoryPeriod is how often it is looked at then.
	memoryPeriod = 50 * time.Millisecond
)

// watchMemory interrupts the running program when the heap outgrows the limit, unless that
// is 0:
// better than the whole process at the hands of the kernel. The goroutine starts
// after memoryGrace and has ended when stop returns.
func watchMemory(limit uint64, interrupt func(cause any)) (stop func()) {
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Add(1)
	start := time.AfterFunc(memoryGrace, func() {
		defer watching.Done()
		if limit > 0 && waitUntilOverLimit(limit, done) {
			interrupt(&memoryError{limit})
		}
	})
	return func() {
		close(done)
		if !start.Stop() {
			watching.Wait()
		}
	}
}

// memoryLimit is how large the heap may grow, in bytes; 0 when that is unknown.
func (o *Options) memoryLimit() uint64 {
	if o.MemoryLimit != 0 {
		return o.MemoryLimit
	}
	return defaultMemoryLimit()
}

// waitUntilOverLimit waits until the heap is larger than the limit, or until done.
func waitUntilOverLimit(limit uint64, done <-chan struct{}) bool {
	tick := time.NewTicker(memoryPeriod)
	defer tick.Stop()
	for {
		if heapSize() > limit {
			runtime.GC() // what is garbage does not count
			if heapSize() > limit {
				return true
			}
		}
		select {
		case <-done:
			return false
		case <-tick.C:
		}
	}
}

// heapSize returns what the objects of the process take, in bytes.
func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// memoryError ends a program that takes too much memory.
type memoryError struct{ limit uint64 }

func (e *memoryError) Error() string {
	return fmt.Sprintf("the program was stopped: it takes more than %d MiB of memory", e.limit>>20)
}

// outOfMemory describes a program that watchMemory stopped; nil when something
// else did.
func (s sources) outOfMemory(err *goja.InterruptedError) *Error {
	var cause *memoryError
	if !errors.As(errors.Unwrap(err), &cause) {
		return nil
	}
	e := &Error{Name: "RangeError", Message: cause.Error()}
	s.locate(e, err.Stack())
	return e
}
