package router

import (
	"context"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// running are the commands under way, by the id of their session, for
// killSessions.
type running struct {
	mu    sync.Mutex
	calls map[string][]*killable
}

type killable struct{ kill context.CancelCauseFunc }

// track makes a command one that killSessions ends. done takes it off the list.
func (r *running) track(ctx context.Context, body bson.Raw) (tracked context.Context, done func()) {
	lsid, isDoc := body.Lookup("lsid").DocumentOK()
	if !isDoc {
		return ctx, func() {}
	}
	ctx, kill := context.WithCancelCause(ctx)
	k, session := &killable{kill}, sessionKey(lsid)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = make(map[string][]*killable)
	}
	r.calls[session] = append(r.calls[session], k)
	return ctx, func() {
		kill(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		var others []*killable
		for _, c := range r.calls[session] {
			if c != k {
				others = append(others, c)
			}
		}
		if r.calls[session] = others; others == nil {
			delete(r.calls, session)
		}
	}
}

func sessionKey(lsid bson.Raw) string { return lsid.Lookup("id").String() }

func (r *running) kill(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls[session] {
		c.kill(mongoerr.New(mongoerr.Interrupted, "operation was interrupted"))
	}
}

// killSessions ends what runs in some sessions.
func (r *Router) killSessions(c *call) (bson.D, error) {
	list, isArray := c.body.Lookup("killSessions").ArrayOK()
	if !isArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field 'KillSessionsCmd.killSessions' is the wrong type '%s', expected type 'array'",
			typeName(c.body.Lookup("killSessions").Type))
	}
	values, err := list.Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, v := range values {
		if id, isDoc := v.DocumentOK(); isDoc {
			r.running.kill(sessionKey(id))
		}
	}
	return bson.D{}, nil
}
