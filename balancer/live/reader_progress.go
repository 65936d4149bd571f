package live

import "sync"

// Progress is the progress of reading routing tables.
type Progress struct {
	Collections, Of int
	Chunks          int64
}

// progressEveryChunks is the number of chunks of one collection between two progress reports.
const progressEveryChunks = 10_000

// progressCounter counts the routing tables that were read.
type progressCounter struct {
	onProgress func(Progress)
	mu         sync.Mutex
	Progress
}

// setTotal sets the total number of collections.
func (t *progressCounter) setTotal(collections int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Of = collections
}

// add adds to the counts, and reports the progress.
func (t *progressCounter) add(collections, chunks int) {
	if t.onProgress == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Collections = min(t.Collections+collections, t.Of)
	t.Chunks += int64(chunks)
	t.onProgress(t.Progress)
}
