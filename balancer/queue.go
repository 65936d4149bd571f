package balancer

import "time"

// Queue holds events that are due at points of time. Events due at the same
// time run in the order they were added, so a run repeats exactly. It is not
// safe for concurrent use. The zero value is an empty queue at time zero.
type Queue struct {
	now    time.Time
	origin time.Time // due times are stored relative to this time
	heap   eventHeap
	seq    uint64
}

// NewQueue returns an empty queue whose time is start.
func NewQueue(start time.Time) *Queue { return &Queue{now: start, origin: start} }

// Now returns the queue's time: the time of the last event that ran, or of the last Advance.
func (q *Queue) Now() time.Time { return q.now }

// At adds an event. An event that is due in the past runs next, and the queue's time does not go back.
func (q *Queue) At(due time.Time, run func()) *Event {
	if due.Before(q.now) {
		due = q.now
	}
	q.seq++
	e := &Event{due: due, run: run}
	q.heap.push(entry{due.Sub(q.origin), q.seq, e})
	return e
}

// After adds an event that is due in d.
func (q *Queue) After(d time.Duration, run func()) *Event { return q.At(q.now.Add(d), run) }

// NextDue returns when the next event is due; false if the queue is empty.
func (q *Queue) NextDue() (time.Time, bool) {
	q.dropCancelled()
	if len(q.heap) == 0 {
		return time.Time{}, false
	}
	return q.heap[0].event.due, true
}

// RunNext advances the time to the next event and runs the event. It returns false if the queue is
// empty.
func (q *Queue) RunNext() bool {
	q.dropCancelled()
	if len(q.heap) == 0 {
		return false
	}
	e := q.heap.pop()
	if e.due.After(q.now) {
		q.now = e.due
	}
	e.run()
	return true
}

// Advance runs all events that are due until t, and sets the time to t. Events that are added meanwhile
// run as well if they are due by then.
func (q *Queue) Advance(t time.Time) {
	for {
		due, ok := q.NextDue()
		if !ok || due.After(t) {
			break
		}
		q.RunNext()
	}
	if t.After(q.now) {
		q.now = t
	}
}

func (q *Queue) dropCancelled() {
	for len(q.heap) > 0 && q.heap[0].event.run == nil {
		q.heap.pop()
	}
}

// Event is an event of a Queue; it may have run already.
type Event struct {
	due time.Time
	run func() // nil if the event is cancelled
}

// Cancel removes the event from its queue if it has not run yet. Cancel on nil does nothing.
func (e *Event) Cancel() {
	if e != nil {
		e.run = nil
	}
}

// entry is an event with its sort key: its due time, as far as a Duration can represent it, and its
// sequence number.
type entry struct {
	due   time.Duration
	seq   uint64
	event *Event
}

func (e *entry) before(b *entry) bool {
	if e.due != b.due {
		return e.due < b.due
	}
	// A Duration saturates after about 290 years; then the times themselves are compared.
	if order := e.event.due.Compare(b.event.due); order != 0 {
		return order < 0
	}
	return e.seq < b.seq
}

// eventHeap is a heap like container/heap, but without calls through an interface: a busy cluster has
// millions of events.
type eventHeap []entry

func (h *eventHeap) push(e entry) {
	*h = append(*h, e)
	list := *h
	i := len(list) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&list[parent]) {
			break
		}
		list[i] = list[parent]
		i = parent
	}
	list[i] = e
}

func (h *eventHeap) pop() *Event {
	list := *h
	first, last := list[0].event, list[len(list)-1]
	list[len(list)-1] = entry{}
	list = list[:len(list)-1]
	*h = list
	if len(list) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(list) {
			break
		}
		if child+1 < len(list) && list[child+1].before(&list[child]) {
			child++
		}
		if !list[child].before(&last) {
			break
		}
		list[i] = list[child]
		i = child
	}
	list[i] = last
	return first
}
