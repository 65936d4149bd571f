package sh

import (
	"fmt"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// movePatience is how long a router is waited for that was to move something and
// went away.
const movePatience = 10 * time.Minute

// shMoveRange leaves absent bounds out: servers refuse null there (rules/04-objects §5.3).
func shMoveRange(c *call, sh *Helpers) goja.Value {
	body := bson.D{{Key: "moveRange", Value: c.Text(0)}, {Key: "toShard", Value: c.Text(1)}}
	for i, name := range []string{"min", "max"} {
		if v := c.Arg(i + 2); !goja.IsUndefined(v) && !goja.IsNull(v) {
			body = append(body, bson.E{Key: name, Value: c.JS.Value(v)})
		}
	}
	if len(body) == 2 {
		c.JS.ThrowInvalid("moveRange needs min or max (Shard.moveRange)")
	}
	return sh.move(c, c.JS.Merge(body, c.Arg(4)))
}

func shMoveChunk(c *call, sh *Helpers) goja.Value {
	body := bson.D{{Key: "moveChunk", Value: c.Text(0)}}
	if c.Has(1) {
		body = append(body, bson.E{Key: "find", Value: c.JS.Value(c.Arg(1))})
	}
	if c.Has(2) {
		body = append(body, bson.E{Key: "to", Value: c.JS.Value(c.Arg(2))})
	}
	return sh.move(c, c.JS.Merge(body, c.Arg(3)))
}

// move sends a move. Where its answer is lost, the cluster is asked what became of
// it before anything is said.
func (sh *Helpers) move(c *call, body bson.D) goja.Value {
	asked := askedMove(rawdoc.Of(body))
	// Whoever may not read the log is told of moves before this one, too, in case the answer is lost.
	asked.After, _ = live.LogEnd(c.JS.Context(), sh.commandRunner(), live.ChangeLog)
	reply, err := c.s.Gateway.Send(sh.current().Sibling("admin").Request(sh.limited(body)))
	if err == nil {
		return c.s.Display.Reply(reply)
	}
	lost := c.s.Gateway.ErrorOf(err)
	if !server.Lost(err) {
		panic(lost)
	}
	m := lostMove{c: c, sh: sh, lost: lost, asked: asked}
	return m.end()
}

func askedMove(body bson.Raw) live.UnansweredMove {
	document := func(path ...string) bson.Raw {
		doc, _ := body.Lookup(path...).DocumentOK()
		return doc
	}
	m := live.UnansweredMove{Namespace: rawdoc.Text(body, "moveRange"), To: catalog.ShardID(rawdoc.Text(body, "toShard")),
		Min: document("min"), Max: document("max")}
	if m.Namespace == "" {
		m = live.UnansweredMove{Namespace: rawdoc.Text(body, "moveChunk"), To: catalog.ShardID(rawdoc.Text(body, "to")),
			Find: document("find"), Min: document("bounds", "0"), Max: document("bounds", "1")}
	}
	return m
}

// lostMove is a move whose answer was lost.
type lostMove struct {
	c     *call
	sh    *Helpers
	lost  *goja.Object // the error
	asked live.UnansweredMove
}

// end waits until it is known what became of the move, and returns what the
// command would have returned, or throws.
func (m *lostMove) end() goja.Value {
	what := fmt.Sprintf("the move of %s to %s", m.asked.Namespace, m.asked.To)
	w := &wait{
		s: m.c.s, goesOn: what + " may be running or done", how: "see show migrations; running it again is safe",
		timeout: longWait, interval: time.Second, patience: movePatience,
		progress: m.c.s.Display.Progress(true),
	}
	var is live.MoveOutcome
	w.until(func() workState {
		is = m.look()
		if is.State == live.MoveRunning && !w.told {
			w.told = true
			m.c.JS.Out.Warn(fmt.Sprintf("The connection was lost (%s); %s continues, waiting for it.", m.message(), what))
			w.goesOn = what + " continues"
		}
		return workState{done: is.State != live.MoveRunning, why: what + " is still in progress: show migrations"}
	})
	switch {
	case is.State == live.MoveDone:
		if !w.told {
			m.c.JS.Out.Warn(fmt.Sprintf("The connection was lost (%s), but %s succeeded.", m.message(), what))
		}
		return m.c.s.Display.Reply(rawdoc.Of(bson.D{{Key: "ok", Value: 1.0}}))
	case script.Property(m.lost, "codeName") != nil: // what a server said stays as it is
	case is.State == live.MoveFailed:
		m.c.JS.Throw(script.RuntimeError, "the connection was lost (%s), and %s failed: %s", m.message(), what, is.Error)
	default:
		script.Define(m.lost, "message", m.c.JS.Runtime.ToValue(fmt.Sprintf(
			"%s; %s did not start, the range is on %s: run it again", m.message(), what, is.Owner)))
	}
	panic(m.lost)
}

func (m *lostMove) message() string { return script.OptionalText(m.lost.Get("message")) }

// look asks what became of the move; what fails is thrown.
func (m *lostMove) look() live.MoveOutcome {
	is, err := live.OutcomeOfMove(m.c.JS.Context(), m.sh.commandRunner(), m.asked)
	if err != nil {
		m.c.s.Gateway.Throw(err)
	}
	return is
}
