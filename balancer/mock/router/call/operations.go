package call

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"shardsh/balancer/mongoerr"
)

// Operations are the commands in progress by operation id, which killOp takes. killSessions kills the
// operations of its sessions.
type Operations struct {
	mu      sync.Mutex
	last    int32
	Running map[int32]Operation
}

// Operation is one command in progress. The cluster's lock guards the time of its call.
type Operation struct {
	ID   int32
	Call *Call
	Name string
	kill context.CancelCauseFunc
}

// Begin registers a command so that killOp can kill it, until the returned function is called.
func (o *Operations) Begin(name string, c *Call, kill context.CancelCauseFunc) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Running == nil {
		o.Running = map[int32]Operation{}
	}
	o.last = max(1, o.last+1)
	id := o.last
	c.OpID = id
	o.Running[id] = Operation{ID: id, Call: c, Name: name, kill: kill}
	return func() {
		kill(nil)
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.Running, id)
	}
}

// List returns the commands in progress in the order of their arrival.
func (o *Operations) List() []Operation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.SortedFunc(maps.Values(o.Running), func(a, b Operation) int { return cmp.Compare(a.ID, b.ID) })
}

// Kill kills the operation with the id, if there is one.
func (o *Operations) Kill(id int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if op, ok := o.Running[id]; ok {
		op.interrupt()
	}
}

// KillWhere kills the operations of the sessions that of selects.
func (o *Operations) KillWhere(of func(SessionID) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, op := range o.Running {
		if op.Call.LSID != nil && of(*op.Call.LSID) {
			op.interrupt()
		}
	}
}

func (o Operation) interrupt() {
	o.kill(mongoerr.New(mongoerr.Interrupted, "operation was interrupted"))
}
