// Package quota limits the resources of a command. It counts steps, and checks the command's context
// after a number of steps. It limits memory to the server's limit of one stage (100 MiB) and to the
// budget of this process.
package quota

import (
	"context"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/value"
)

// Meter counts the work of one run of a query, an update or a pipeline. Every loop over documents,
// elements and expressions charges steps to it. From time to time the meter checks the context of the
// run. When the context has ended, the meter ends too: loops stop, and evaluation and matching return
// the cause.
//
// A meter is not safe for concurrent use. A nil meter never ends.
type Meter struct {
	Context       context.Context
	stepsLeft     int       // until the next check
	checkInterval int       // number of steps between two checks
	lastCheck     time.Time // time of the last check
	err           error     // the reason why the meter has ended

	account        *Account // nil without a budget
	held, reserved int64    // bytes held, and bytes reserved from the account
}

// reserveBytes is the unit in which memory is reserved from the budget.
const reserveBytes = 1 << 20

// Hold charges n more bytes of memory.
func (m *Meter) Hold(n int) error {
	if m == nil || m.account == nil {
		return nil
	}
	if m.held += int64(n); m.held <= m.reserved {
		return nil
	}
	more := (m.held - m.reserved + reserveBytes - 1) / reserveBytes * reserveBytes
	if err := m.account.Reserve(more); err != nil {
		return err
	}
	m.reserved += more
	return nil
}

// Release releases n bytes of memory.
func (m *Meter) Release(n int64) {
	if m == nil || m.account == nil {
		return
	}
	m.held -= n
	if less := (m.reserved - m.held) / reserveBytes * reserveBytes; less > reserveBytes {
		m.account.Release(less)
		m.reserved -= less
	}
}

// ReleaseAll releases all memory that the run holds.
func (m *Meter) ReleaseAll() {
	if m != nil && m.account != nil {
		m.account.Release(m.reserved)
		m.held, m.reserved = 0, 0
	}
}

// The cost of steps varies: the number of steps between two checks is adjusted so that checks are
// between minCheckTime and maxCheckTime apart.
const (
	minSteps     = 1
	initialSteps = 64
	maxSteps     = 4096
	minCheckTime = time.Millisecond
	maxCheckTime = 5 * time.Millisecond
)

// bytesPerStep is the number of bytes of a string or document that count as one step.
const bytesPerStep = 64

// New returns a meter that ends when ctx ends. It returns nil for a nil ctx.
func New(ctx context.Context) *Meter {
	if ctx == nil {
		return nil
	}
	return &Meter{
		Context:       ctx,
		stepsLeft:     initialSteps,
		checkInterval: initialSteps,
		lastCheck:     time.Now(),
		account:       accountOf(ctx),
	}
}

// Charge charges n steps. It returns an error if the meter has ended.
func (m *Meter) Charge(n int) error {
	if m == nil {
		return nil
	}
	if m.stepsLeft -= n; m.stepsLeft > 0 {
		return m.err
	}
	return m.checkContext()
}

// checkContext checks the context and adjusts the number of steps to the next check.
func (m *Meter) checkContext() error {
	now := time.Now()
	switch took := now.Sub(m.lastCheck); {
	case took > maxCheckTime:
		m.checkInterval = max(m.checkInterval/4, minSteps)
	case took < minCheckTime:
		m.checkInterval = min(m.checkInterval*2, maxSteps)
	}
	m.lastCheck, m.stepsLeft = now, m.checkInterval
	if m.err == nil && m.Context.Err() != nil {
		m.err = context.Cause(m.Context)
	}
	return m.err
}

// Err checks the context at once. It returns an error if the meter has ended.
func (m *Meter) Err() error {
	if m == nil {
		return nil
	}
	return m.checkContext()
}

// ChargeBytes charges the steps of processing the given number of bytes.
func (m *Meter) ChargeBytes(bytes int) error { return m.Charge(1 + bytes/bytesPerStep) }

// Fields iterates over a document or array. It stops early when the meter ends.
func (m *Meter) Fields(doc []byte) iter.Seq2[[]byte, value.Value] {
	return func(yield func([]byte, value.Value) bool) {
		for name, v := range document.Fields(doc) {
			if m.ChargeBytes(len(v.Value)) != nil || !yield(name, v) {
				return
			}
		}
	}
}

// Items returns the elements of an array, or only the first ones if the meter ends.
func (m *Meter) Items(arr value.Value) []value.Value {
	var out []value.Value
	for _, v := range m.Fields(arr.Value) {
		out = append(out, v)
	}
	return out
}

// Documents returns a stream of a slice of documents. The stream ends with the meter.
func (m *Meter) Documents(all []bson.Raw) Docs {
	return func(yield func(bson.Raw, error) bool) {
		for _, d := range all {
			if err := m.Charge(1); err != nil {
				yield(nil, err)
				return
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// SortStable sorts a slice in place; equal elements keep their order. It stops early when the meter
// ends.
func SortStable[T any](w *Meter, list []T, compare func(a, b T) int) {
	other := make([]T, len(list))
	from, to := list, other
	for width := 1; width < len(list); width *= 2 {
		for i := 0; i < len(list); i += 2 * width {
			middle := min(i+width, len(list))
			if !merge(w, to[i:i], from[i:middle], from[middle:min(i+2*width, len(list))], compare) {
				copy(list, from) // the slice contains each element exactly once, even after an early stop
				return
			}
		}
		from, to = to, from
	}
	copy(list, from)
}

// merge merges two sorted slices and appends them to dst.
func merge[T any](w *Meter, dst, a, b []T, compare func(a, b T) int) bool {
	for len(a) > 0 && len(b) > 0 {
		if w.Charge(1) != nil {
			return false
		}
		if compare(b[0], a[0]) < 0 {
			dst, b = append(dst, b[0]), b[1:]
		} else {
			dst, a = append(dst, a[0]), a[1:]
		}
	}
	_ = append(append(dst, a...), b...)
	return true
}

// Docs is a stream of documents that ends at the first error.
type Docs = iter.Seq2[bson.Raw, error]
