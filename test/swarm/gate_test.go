package swarm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
	"shardsh/test/swarm/trace"
)

// gate is where commands wait until the director lets them go on, one at a time.
type gate struct {
	mu      sync.Mutex
	waiting []*waiter
	stalled map[*process]time.Time // until when
	arrived chan struct{}
	n       int
}

// waiter is a command at the gate.
type waiter struct {
	from    *process
	command string
	order   string // what it is, to be drawn from in an order that does not depend on the scheduler
	n       int
	goOn    chan verdict
}

// verdict says what becomes of a command.
type verdict struct {
	cut     cut
	applies bool // cut is to happen
}

func newGate() *gate {
	return &gate{arrived: make(chan struct{}, 1), stalled: map[*process]time.Time{}}
}

// stall has a command, and all that come from its process, wait for a while.
func (g *gate) stall(w *waiter, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stalled[w.from] = time.Now().Add(d)
	g.waiting = append(g.waiting, w)
	time.AfterFunc(d, g.knock)
}

// knock has the director look.
func (g *gate) knock() {
	select {
	case g.arrived <- struct{}{}:
	default:
	}
}

// pass waits until the director lets a command go on; false when its sender is gone.
func (g *gate) pass(ctx context.Context, p *process, a asked) (verdict, bool) {
	g.mu.Lock()
	g.n++
	w := &waiter{p, a.command, p.name + " " + a.String(), g.n, make(chan verdict, 1)}
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()
	g.knock()
	select {
	case v := <-w.goOn:
		return v, true
	case <-ctx.Done():
	case <-p.gone:
	}
	g.mu.Lock()
	g.waiting = slices.DeleteFunc(g.waiting, func(o *waiter) bool { return o == w })
	g.mu.Unlock()
	return verdict{}, false
}

// take takes one that waits out, by a draw; nil when there is none.
func (g *gate) take(draw func(int) int) *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	var ready []*waiter
	for _, w := range g.waiting {
		if !g.stalled[w.from].After(time.Now()) {
			ready = append(ready, w)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	slices.SortFunc(ready, func(a, b *waiter) int {
		if c := strings.Compare(a.order, b.order); c != 0 {
			return c
		}
		return a.n - b.n
	})
	w := ready[draw(len(ready))]
	g.waiting = slices.DeleteFunc(g.waiting, func(o *waiter) bool { return o == w })
	return w
}

// free are commands that pass the gate: they change nothing.
var free = map[string]bool{"endSessions": true, "ping": true, "killCursors": true}

// greets are those by which a driver knows a server.
var greets = map[string]bool{"hello": true, "isMaster": true, "ismaster": true}

// direct runs the cluster until over is closed: it waits until all stands still, lets one command
// go on, and lets time pass.
func (w *world) direct(over <-chan struct{}) {
	for {
		synctest.Wait()
		select {
		case <-over:
			return
		default:
		}
		due, more := w.cluster.ClockUnderLock().Drive(time.Now())
		synctest.Wait()
		if next := w.gate.take(w.chance.IntN); next != nil {
			if v, goes := w.decide(next); goes {
				next.goOn <- v
			}
			time.Sleep(time.Duration(100+w.chance.IntN(3000))*time.Microsecond + time.Duration(w.chance.IntN(1000)))
			continue
		}
		if w.idle(due, more, over) {
			return
		}
	}
}

// idle lets time pass until the next event of the cluster is due, or a command has come. It
// returns true when all is over.
func (w *world) idle(due time.Time, more bool, over <-chan struct{}) bool {
	wait := time.Hour
	if more {
		wait = time.Until(due)
	}
	timer := time.NewTimer(max(0, wait))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.gate.arrived:
	case <-over:
		return true
	}
	return false
}

// decide says what becomes of the next command of an actor.
func (w *world) decide(next *waiter) (v verdict, goes bool) {
	actor := next.from.actor
	n := w.sent[actor]
	w.sent[actor]++
	if w.healed {
		return verdict{}, true
	}
	i := slices.IndexFunc(w.scenario.Cuts, func(c cut) bool { return c.Actor == actor && c.Nth == n })
	if i < 0 {
		return verdict{}, true
	}
	c := w.scenario.Cuts[i]
	switch {
	case c.Stall > 0 && trace.IsChange(next.command): // the lease was made sure of just now: nothing can help
		return verdict{}, true
	case c.Stall > 0:
		w.note(trace.Event{Kind: trace.Fault, By: next.from.name, Text: "stands still"})
		w.gate.stall(next, c.Stall)
		return verdict{}, false
	case c.Kill:
		w.kill(next.from)
	}
	return verdict{c, true}, true
}

// Handle answers a command of a process. One that was killed hears nothing that it could use.
func (p *process) Handle(ctx context.Context, req wire.Request) bson.Raw {
	switch {
	case greets[req.Command]:
		return p.world.router.Handle(ctx, req)
	case p.isGone():
		return failed(interrupted)
	case free[req.Command]:
		return p.world.router.Handle(ctx, req)
	}
	a := askedOf(req)
	v, there := p.world.gate.pass(ctx, p, a)
	if !there && p.isGone() {
		return failed(interrupted)
	}
	if !there || v.applies && !v.cut.After && (v.cut.Kill || v.cut.Code == 0) {
		req.Client.Drop()
		return failed(6)
	}
	if v.applies && !v.cut.After {
		return failed(v.cut.Code)
	}
	if !v.applies || !v.cut.Kill { // or else the servers go on
		var cancel context.CancelFunc
		ctx, cancel = p.untilGone(ctx)
		defer cancel()
	}
	reply := p.world.carryOut(ctx, p, req, a, v.applies)
	switch {
	case p.isGone():
		return failed(interrupted)
	case !v.applies:
		return reply
	case v.cut.Kill || v.cut.Code == 0:
		req.Client.Drop()
		return failed(6)
	}
	return failed(v.cut.Code)
}

// interrupted is a code that no driver takes as a reason to try again.
const interrupted = 11601

func (p *process) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// untilGone returns a context that ends when the process is killed, as its connections do then.
func (p *process) untilGone(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// carryOut has the router answer a command, and notes it.
func (w *world) carryOut(ctx context.Context, p *process, req wire.Request, a asked, lost bool) bson.Raw {
	op := w.newOp()
	min, max := a.min, a.max
	w.asking.begin(op, p.actor, a)
	if !p.quiet {
		w.note(trace.Event{Kind: trace.CmdBegin, Op: op, By: p.name, Cmd: a.command, NS: a.ns, To: a.to, Min: min, Max: max, Text: a.text})
	}
	if req.Database == live.LeaseDatabase && req.Command == "findAndModify" {
		w.claims.note(p.name, req.Body)
	}
	reply := w.router.Handle(ctx, req)
	w.asking.end(op, codeOf(reply) == int(mongoerr.Interrupted))
	if req.Database == live.LeaseDatabase {
		w.cluster.Lock()
		w.observer.lookAtLease(p.name, &w.lease)
		w.cluster.Unlock()
	}
	if !p.quiet {
		w.note(trace.Event{Kind: trace.CmdEnd, Op: op, By: p.name, Cmd: a.command, NS: a.ns, Code: codeOf(reply), ReplyLost: lost})
	}
	return reply
}

func codeOf(reply bson.Raw) int {
	if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok == 1 {
		return 0
	}
	code, _ := reply.Lookup("code").AsInt64OK()
	return max(1, int(code))
}

// failed is the reply of a command that fails with a code.
func failed(code int) bson.Raw {
	doc := bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: "the swarm has it fail"}, {Key: "code", Value: int32(code)}}
	raw, err := bson.Marshal(doc)
	if err != nil {
		panic(err) // plain values
	}
	return raw
}

// asked is what is noted of a command.
type asked struct {
	command, ns, to, text string
	min, max              *trace.Bound
}

func (a asked) String() string {
	return fmt.Sprint(a.command, " ", a.ns, " ", show(a.min), " ", show(a.max), " ", a.to, a.text)
}

func show(b *trace.Bound) string {
	if b == nil {
		return "-"
	}
	return b.String()
}

// askedOf reads a command.
func askedOf(req wire.Request) asked {
	a := asked{command: req.Command, ns: "admin"}
	if text, isText := req.Body.Lookup(req.Command).StringValueOK(); isText {
		a.ns = text
		if req.Database != "admin" {
			a.ns = req.Database + "." + text
		}
	}
	for _, name := range []string{"to", "toShard"} {
		if text, isText := req.Body.Lookup(name).StringValueOK(); isText {
			a.to = text
		}
	}
	a.min, a.max = boundIn(req.Body, "min"), boundIn(req.Body, "max")
	for _, name := range []string{"find", "middle"} {
		if b := boundIn(req.Body, name); b != nil {
			a.min = b
		}
	}
	if bounds, isArray := req.Body.Lookup("bounds").ArrayOK(); isArray {
		a.min, a.max = boundIn(bson.Raw(bounds), "0"), boundIn(bson.Raw(bounds), "1")
	}
	if v := req.Body.Lookup("noBalance"); !v.IsZero() {
		a.text = " noBalance " + v.String()
	}
	if v := req.Body.Lookup("enableBalancing"); !v.IsZero() {
		a.text = " enableBalancing " + v.String()
	}
	return a
}

// boundIn reads a bound of a key of one number.
func boundIn(doc bson.Raw, name string) *trace.Bound {
	bound, isDoc := doc.Lookup(name).DocumentOK()
	if !isDoc {
		return nil
	}
	v := bound.Lookup("x")
	b := trace.MinKey
	switch n, isNumber := v.AsInt64OK(); {
	case isNumber:
		b = trace.Bound(n)
	case v.Type == bson.TypeMaxKey:
		b = trace.MaxKey
	case v.Type != bson.TypeMinKey:
		return nil
	}
	return &b
}
