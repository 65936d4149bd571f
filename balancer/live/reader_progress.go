package live

import "sync"

// Progress is how far the read of routing tables is.
type Progress struct {
	Collections, Of int
	Chunks          int64
}

// someChunks is after how many chunks of one collection somebody is told.
const someChunks = 10_000

// progressCounter tells how many routing tables were read.
type progressCounter struct {
	tell func(Progress)
	mu   sync.Mutex
	Progress
}

// of notes how many collections there are.
func (t *progressCounter) of(collections int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Of = collections
}

// add notes what was read, and tells it.
func (t *progressCounter) add(collections, chunks int) {
	if t.tell == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Collections = min(t.Collections+collections, t.Of)
	t.Chunks += int64(chunks)
	t.tell(t.Progress)
}
