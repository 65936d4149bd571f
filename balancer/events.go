package balancer

import (
	"container/heap"
	"time"
)

// Queue holds events that are due at points of time. Events due at the same
// time run in the order they were added, so a run repeats exactly. It is not
// safe for concurrent use. The zero value is an empty queue at time zero.
type Queue struct {
	now  time.Time
	heap eventHeap
	seq  uint64
}

// NewQueue returns an empty queue whose time is start.
func NewQueue(start time.Time) *Queue { return &Queue{now: start} }

// Now returns the queue's time: that of the last event run or of the last Advance.
func (q *Queue) Now() time.Time { return q.now }

// At adds an event. One that is due in the past runs next, without turning
// time back. The returned function takes it out again.
func (q *Queue) At(due time.Time, run func()) (cancel func()) {
	if due.Before(q.now) {
		due = q.now
	}
	q.seq++
	e := &event{due: due, seq: q.seq, run: run}
	heap.Push(&q.heap, e)
	return func() { e.run = nil }
}

// After adds an event that is due in d.
func (q *Queue) After(d time.Duration, run func()) (cancel func()) { return q.At(q.now.Add(d), run) }

// Next returns when the next event is due; false when there is none.
func (q *Queue) Next() (time.Time, bool) {
	q.dropCancelled()
	if len(q.heap) == 0 {
		return time.Time{}, false
	}
	return q.heap[0].due, true
}

// RunNext moves time to the next event and runs it; false when there is none.
func (q *Queue) RunNext() bool {
	q.dropCancelled()
	if len(q.heap) == 0 {
		return false
	}
	e := heap.Pop(&q.heap).(*event)
	if e.due.After(q.now) {
		q.now = e.due
	}
	e.run()
	return true
}

// Advance runs everything due until t and leaves the time at t. Events that
// an event adds are run too when they are due by then.
func (q *Queue) Advance(t time.Time) {
	for {
		due, ok := q.Next()
		if !ok || due.After(t) {
			break
		}
		q.RunNext()
	}
	if t.After(q.now) {
		q.now = t
	}
}

// Len returns the number of events waiting.
func (q *Queue) Len() int {
	q.dropCancelled()
	return len(q.heap)
}

func (q *Queue) dropCancelled() {
	for len(q.heap) > 0 && q.heap[0].run == nil {
		heap.Pop(&q.heap)
	}
}

type event struct {
	due time.Time
	seq uint64
	run func()
}

type eventHeap []*event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	if !h[i].due.Equal(h[j].due) {
		return h[i].due.Before(h[j].due)
	}
	return h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(*event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
