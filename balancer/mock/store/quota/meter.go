// Package quota bounds what a command spends: steps, after which it looks whether
// its context has ended, and memory, up to what the server lets one stage keep
// (100 MiB) and to the budget of this process.
package quota

import (
	"context"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/value"
)

// Meter is what one run of a query, an update or a pipeline spends. Every loop
// over documents, elements and expressions takes steps of it; once in a while
// it looks at the context of the run, and when that has ended so does the run:
// loops stop, and whoever evaluates or matches returns the cause.
//
// A meter belongs to one goroutine. Nil never ends.
type Meter struct {
	Context context.Context
	left    int       // steps until the next look
	every   int       // steps between two looks
	last    time.Time // of the last look
	err     error     // why the run has ended

	account        *Account // nil without a budget
	held, reserved int64    // what is kept, and what of it the account knows
}

// reserveBytes is how much is asked of the budget at a time.
const reserveBytes = 1 << 20

// Hold notes that n bytes more are kept.
func (w *Meter) Hold(n int) error {
	if w == nil || w.account == nil {
		return nil
	}
	if w.held += int64(n); w.held <= w.reserved {
		return nil
	}
	more := (w.held - w.reserved + reserveBytes - 1) / reserveBytes * reserveBytes
	if err := w.account.Reserve(more); err != nil {
		return err
	}
	w.reserved += more
	return nil
}

// Release notes that n bytes are not kept any longer.
func (w *Meter) Release(n int64) {
	if w == nil || w.account == nil {
		return
	}
	w.held -= n
	if less := (w.reserved - w.held) / reserveBytes * reserveBytes; less > reserveBytes {
		w.account.Release(less)
		w.reserved -= less
	}
}

// End gives back all that is held.
func (w *Meter) End() {
	if w != nil && w.account != nil {
		w.account.Release(w.reserved)
		w.held, w.reserved = 0, 0
	}
}

// Steps differ in what they cost: as many are taken between two looks as fit
// into lookLeast to lookMost.
const (
	fewestSteps = 1
	firstSteps  = 64
	maxSteps    = 4096
	lookLeast   = time.Millisecond
	lookMost    = 5 * time.Millisecond
)

// bytesPerStep is how much of a string or a document counts as one step.
const bytesPerStep = 64

// New begins the meter of a run, which ends with its context; nil for a nil one.
func New(ctx context.Context) *Meter {
	if ctx == nil {
		return nil
	}
	return &Meter{Context: ctx, left: firstSteps, every: firstSteps, last: time.Now(), account: accountOf(ctx)}
}

// Step takes n steps, and returns why the run has ended if it has.
func (w *Meter) Step(n int) error {
	if w == nil {
		return nil
	}
	if w.left -= n; w.left > 0 {
		return w.err
	}
	return w.look()
}

// look asks the context.
func (w *Meter) look() error {
	now := time.Now()
	switch took := now.Sub(w.last); {
	case took > lookMost:
		w.every = max(w.every/4, fewestSteps)
	case took < lookLeast:
		w.every = min(w.every*2, maxSteps)
	}
	w.last, w.left = now, w.every
	if w.err == nil && w.Context.Err() != nil {
		w.err = context.Cause(w.Context)
	}
	return w.err
}

// Over looks at once, and returns why the run has ended if it has.
func (w *Meter) Over() error {
	if w == nil {
		return nil
	}
	return w.look()
}

// Handle takes the steps of going through so many bytes.
func (w *Meter) Handle(bytes int) error { return w.Step(1 + bytes/bytesPerStep) }

// Fields walks a document or array; the walk ends early when the run does.
func (w *Meter) Fields(doc []byte) iter.Seq2[[]byte, value.Value] {
	return func(yield func([]byte, value.Value) bool) {
		for name, v := range document.Fields(doc) {
			if w.Handle(len(v.Value)) != nil || !yield(name, v) {
				return
			}
		}
	}
}

// Items returns the elements of an array, or some of them when the run ends.
func (w *Meter) Items(arr value.Value) []value.Value {
	var out []value.Value
	for _, v := range w.Fields(arr.Value) {
		out = append(out, v)
	}
	return out
}

// Documents walks documents at hand; the walk ends with the run.
func (w *Meter) Documents(all []bson.Raw) Docs {
	return func(yield func(bson.Raw, error) bool) {
		for _, d := range all {
			if err := w.Step(1); err != nil {
				yield(nil, err)
				return
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// SortStable sorts a list in place; what is equal keeps its order. It stops in the
// middle when the run ends.
func SortStable[T any](w *Meter, list []T, compare func(a, b T) int) {
	other := make([]T, len(list))
	from, to := list, other
	for width := 1; width < len(list); width *= 2 {
		for i := 0; i < len(list); i += 2 * width {
			middle := min(i+width, len(list))
			if !merge(w, to[i:i], from[i:middle], from[middle:min(i+2*width, len(list))], compare) {
				copy(list, from) // each still once
				return
			}
		}
		from, to = to, from
	}
	copy(list, from)
}

// merge appends two sorted lists to dst as one.
func merge[T any](w *Meter, dst, a, b []T, compare func(a, b T) int) bool {
	for len(a) > 0 && len(b) > 0 {
		if w.Step(1) != nil {
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

// Docs is a stream of documents; an error ends it.
type Docs = iter.Seq2[bson.Raw, error]
