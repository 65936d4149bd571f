package testrunner

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// Command is one that a script has sent, as the cluster got it: one that the driver
// sent again counts again.
type Command struct {
	Database, Name string
	// Body has no secrets.
	Body  bson.Raw
	Reply bson.Raw // nil without one
	// Error is why there is none, or what the reply says.
	Error string
	// Took is in the cluster's time.
	Took time.Duration
}

// trigger is something that happens at a command.
type trigger struct {
	// countdown counts commands from when it was added, from 1.
	countdown int
	// before is called before the command is carried out.
	before func()
	// fail is the answer in its place; nil lets it go.
	fail error
	// cutsConnection closes the connection in place of the reply.
	cutsConnection bool
	// name is of the command it met; empty before.
	name string
	// text is how the test has written it down.
	text string
}

// recorder is a proxy between scripts and the cluster: it records their commands, and fires
// triggers at some.
type recorder struct {
	handler wire.Handler
	clock   mock.Clock

	mu       sync.Mutex
	sent     []*Command
	triggers []*trigger
}

// driverCommands are commands of the driver's own.
var driverCommands = map[string]bool{"hello": true, "isMaster": true, "ismaster": true, "endSessions": true}

// Handle answers one command.
func (t *recorder) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if driverCommands[r.Command] {
		return t.handleHandshake(ctx, r)
	}
	if !strings.HasPrefix(r.Client.Local, scriptHost) {
		return t.handler.Handle(ctx, r)
	}
	command := &Command{Database: r.Database, Name: r.Command, Body: r.Body}
	met := t.record(command)
	for _, a := range met {
		if a.before != nil {
			a.before()
		}
	}
	// Not the script's clock: a look at that takes time.
	began := t.clock.Peek()
	reply := t.answer(ctx, r, met)
	t.mu.Lock()
	defer t.mu.Unlock()
	command.Took = t.clock.Peek().Sub(began)
	for _, a := range met {
		if a.cutsConnection {
			r.Client.Drop()
			command.Error = "the connection was cut"
			return reply
		}
	}
	command.Reply = reply
	command.Error = errorOf(reply)
	return reply
}

// handleHandshake answers handshakes of a driver. To one that takes the cluster
// for a load balancer it is one.
func (t *recorder) handleHandshake(ctx context.Context, r wire.Request) bson.Raw {
	const balanced = "loadBalanced"
	if r.Body.Lookup(balanced).IsZero() {
		return t.handler.Handle(ctx, r)
	}
	var body bson.D
	if err := bson.Unmarshal(r.Body, &body); err != nil {
		return t.handler.Handle(ctx, r)
	}
	body = slices.DeleteFunc(body, func(e bson.E) bool { return e.Key == balanced })
	raw, err := bson.Marshal(body)
	if err != nil {
		return t.handler.Handle(ctx, r)
	}
	r.Body = raw
	reply := t.handler.Handle(ctx, r)
	var fields bson.D
	if err := bson.Unmarshal(reply, &fields); err != nil {
		return reply
	}
	if raw, err = bson.Marshal(append(fields, bson.E{Key: "serviceId", Value: bson.ObjectID{1}})); err != nil {
		return reply
	}
	return raw
}

// Leave is for handlers that keep something of connections.
func (t *recorder) Leave(c *wire.Client) {
	if l, ok := t.handler.(wire.Leaver); ok {
		l.Leave(c)
	}
}

// record records a command and returns what happens at it.
func (t *recorder) record(c *Command) (met []*trigger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, c)
	for _, a := range t.triggers {
		if a.countdown--; a.countdown == 0 {
			a.name = c.Name
			met = append(met, a)
		}
	}
	return met
}

func (t *recorder) answer(ctx context.Context, r wire.Request, met []*trigger) bson.Raw {
	for _, a := range met {
		if a.fail == nil {
			continue
		}
		raw, err := bson.Marshal(mongoerr.Reply(a.fail))
		if err == nil {
			return raw
		}
	}
	return t.handler.Handle(ctx, r)
}

// add adds a trigger.
func (t *recorder) add(a *trigger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.triggers = append(t.triggers, a)
}

// takeCommands returns the commands that were sent since it was called last.
func (t *recorder) takeCommands() []*Command {
	t.mu.Lock()
	defer t.mu.Unlock()
	sent := t.sent
	t.sent = nil
	return sent
}

// pending returns the triggers that have not fired.
func (t *recorder) pending() (list []*trigger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.triggers {
		if a.countdown > 0 {
			list = append(list, a)
		}
	}
	return list
}

// errorOf returns what a reply says went wrong; empty for nothing.
func errorOf(reply bson.Raw) string {
	if text, ok := reply.Lookup("errmsg").StringValueOK(); ok {
		return text
	}
	if list, ok := reply.Lookup("writeErrors").ArrayOK(); ok {
		text, _ := list.Index(0).Document().Lookup("errmsg").StringValueOK()
		return text
	}
	text, _ := reply.Lookup("writeConcernError", "errmsg").StringValueOK()
	return text
}

// redacted returns a command without secrets.
func (c *Command) redacted() bson.Raw { return commands.WithoutSecrets(c.Body) }
