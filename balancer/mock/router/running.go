package router

import (
	"context"
	"sync"

	"shardsh/balancer/mongoerr"
)

// running are the commands under way, by their session, for killSessions.
type running struct {
	mu    sync.Mutex
	calls map[sessionID][]*killable
}

type killable struct{ kill context.CancelCauseFunc }

// track makes a command one that killSessions ends. done takes it off the list.
func (r *running) track(ctx context.Context, session *sessionID) (tracked context.Context, done func()) {
	if session == nil {
		return ctx, func() {}
	}
	ctx, kill := context.WithCancelCause(ctx)
	k, id := &killable{kill}, *session
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = make(map[sessionID][]*killable)
	}
	r.calls[id] = append(r.calls[id], k)
	return ctx, func() {
		kill(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		var others []*killable
		for _, c := range r.calls[id] {
			if c != k {
				others = append(others, c)
			}
		}
		if r.calls[id] = others; others == nil {
			delete(r.calls, id)
		}
	}
}

func (r *running) killWhere(of func(sessionID) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, calls := range r.calls {
		if !of(id) {
			continue
		}
		for _, c := range calls {
			c.kill(mongoerr.New(mongoerr.Interrupted, "operation was interrupted"))
		}
	}
}
