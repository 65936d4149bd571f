package swarm

import (
	"maps"
	"slices"
	"sync"

	"shardsh/test/swarm/trace"
)

// inFlight are the commands that are being carried out.
type inFlight struct {
	mu   sync.Mutex
	list map[int]sent
}

type sent struct {
	by string
	asked
	interrupted bool
}

func (f *inFlight) begin(op int, by string, a asked) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.list == nil {
		f.list = map[int]sent{}
	}
	f.list[op] = sent{by: by, asked: a}
}

// end forgets a command. One that was interrupted may go on: a new primary of the config servers
// sends a move again that was under way.
func (f *inFlight) end(op int, interrupted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.list[op]; interrupted && trace.IsMove(s.command) {
		s.interrupted = true
		f.list[op] = s
		return
	}
	delete(f.list, op)
}

// mover returns who asks for a move; empty for nobody, and so it is the balancer's.
func (f *inFlight) mover(ns string, min *trace.Bound, to string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, op := range slices.Sorted(maps.Keys(f.list)) {
		s := f.list[op]
		if trace.IsMove(s.command) && s.ns == ns && s.to == to &&
			(s.min == nil || min == nil || s.command == "moveChunk" || *s.min == *min) {
			if s.interrupted { // sent again, once
				delete(f.list, op)
			}
			return s.by
		}
	}
	return ""
}
