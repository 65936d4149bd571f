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

// Command is a command that a script has sent, as the cluster received it. A retry by the driver is
// another Command.
type Command struct {
	Database, Name string
	// Body is the command as received; redacted removes secrets.
	Body  bson.Raw
	Reply bson.Raw // nil without a reply
	// Error is why there is no reply, or the error in the reply.
	Error string
	// Took is the duration in the cluster's time.
	Took time.Duration
}

// trigger is an action at a command of a script.
type trigger struct {
	// countdown is the number of commands until the trigger fires, from 1.
	countdown int
	// before is called before the command is carried out.
	before func()
	// replyError is the error that replaces the reply; nil carries out the command.
	replyError error
	// cutsConnection closes the connection in place of the reply.
	cutsConnection bool
	// firedAt is the command at which the trigger has fired; empty before.
	firedAt string
	// text is the trigger's source text in the test.
	text string
}

// recorder is a proxy between scripts and the cluster: it records their commands and fires triggers.
type recorder struct {
	handler wire.Handler
	clock   mock.Clock

	mu       sync.Mutex
	sent     []*Command
	triggers []*trigger
}

// driverCommands are commands that the driver sends by itself.
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
	// Peek does not advance the virtual clock, as reading the script's clock does.
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

// handleHandshake answers handshakes of a driver. For a driver with loadBalanced=true, the reply is
// that of a load balancer.
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

// Leave notifies handlers that store data about connections.
func (t *recorder) Leave(c *wire.ClientConn) {
	if l, ok := t.handler.(wire.DisconnectHandler); ok {
		l.Leave(c)
	}
}

// record records a command and returns the triggers that fire at it.
func (t *recorder) record(c *Command) (firing []*trigger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, c)
	for _, a := range t.triggers {
		if a.countdown--; a.countdown == 0 {
			a.firedAt = c.Name
			firing = append(firing, a)
		}
	}
	return firing
}

func (t *recorder) answer(ctx context.Context, r wire.Request, firing []*trigger) bson.Raw {
	for _, a := range firing {
		if a.replyError == nil {
			continue
		}
		raw, err := bson.Marshal(mongoerr.Reply(a.replyError))
		if err == nil {
			return raw
		}
	}
	return t.handler.Handle(ctx, r)
}

// addTrigger adds a trigger.
func (t *recorder) addTrigger(a *trigger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.triggers = append(t.triggers, a)
}

// takeCommands returns the commands since the last call.
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

// errorOf returns the error in a reply; empty for none.
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
