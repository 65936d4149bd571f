package live

import "sync"

// Progress is the progress of reading routing tables.
type Progress struct {
	Collections, TotalCollections int
	Chunks                        int64
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
func (p *progressCounter) setTotal(collections int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.TotalCollections = collections
}

// add adds to the counts, and reports the progress.
func (p *progressCounter) add(collections, chunks int) {
	if p.onProgress == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Collections = min(p.Collections+collections, p.TotalCollections)
	p.Chunks += int64(chunks)
	p.onProgress(p.Progress)
}
