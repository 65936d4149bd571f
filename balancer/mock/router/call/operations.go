package call

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"shardsh/balancer/mongoerr"
)

// Operations are the commands under way, by the numbers that killOp takes.
// killSessions ends those of its sessions.
type Operations struct {
	mu      sync.Mutex
	last    int32
	Running map[int32]Operation
}

// Operation is one command under way. The cluster's lock guards the call's
// time.
type Operation struct {
	ID   int32
	Call *Call
	Name string
	kill context.CancelCauseFunc
}

// Begin numbers a command and makes it one that killOp ends, until its end.
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

// List returns the commands under way, in the order they came.
func (o *Operations) List() []Operation {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []Operation
	for _, op := range o.Running {
		list = append(list, op)
	}
	slices.SortFunc(list, func(a, b Operation) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Kill ends the command with a number, if there is one.
func (o *Operations) Kill(id int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if op, ok := o.Running[id]; ok {
		op.interrupt()
	}
}

// KillWhere ends the commands of some sessions.
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
