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
	// memoryGrace is how long a program may run before its memory is checked.
	memoryGrace = 100 * time.Millisecond
	// memoryPeriod is the interval of the checks.
	memoryPeriod = 50 * time.Millisecond
)

// watchMemory interrupts the running program when the heap exceeds the limit, before the kernel kills
// the whole process. A limit of 0 disables it. The goroutine starts after memoryGrace and has ended
// when stop returns.
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

// memoryLimit returns the maximum heap size in bytes; 0 when it is unknown.
func (o *Options) memoryLimit() uint64 {
	if o.MemoryLimit != 0 {
		return o.MemoryLimit
	}
	return defaultMemoryLimit()
}

// waitUntilOverLimit waits until the heap exceeds the limit, or until done is closed.
func waitUntilOverLimit(limit uint64, done <-chan struct{}) bool {
	tick := time.NewTicker(memoryPeriod)
	defer tick.Stop()
	for {
		if heapSize() > limit {
			runtime.GC() // garbage does not count
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

// heapSize returns the size of the heap's objects in bytes.
func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// memoryError ends a program that uses too much memory.
type memoryError struct{ limit uint64 }

func (e *memoryError) Error() string {
	return fmt.Sprintf("the program was stopped: it takes more than %d MiB of memory", e.limit>>20)
}

// describeOutOfMemory describes a program that watchMemory stopped; nil when it was stopped for another reason.
func (s sources) describeOutOfMemory(err *goja.InterruptedError) *Error {
	var cause *memoryError
	if !errors.As(errors.Unwrap(err), &cause) {
		return nil
	}
	e := &Error{Name: "RangeError", Message: cause.Error()}
	s.locate(e, err.Stack())
	return e
}
