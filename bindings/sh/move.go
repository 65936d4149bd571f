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

// moveAnswerTimeout is how long to wait for a router that became unavailable during a move.
const moveAnswerTimeout = 10 * time.Minute

// shMoveRange leaves out missing bounds, because servers reject null there (rules/04-objects §5.3).
func shMoveRange(c *call, sh *Helpers) goja.Value {
	body := bson.D{{Key: "moveRange", Value: c.Text(0)}, {Key: "toShard", Value: c.Text(1)}}
	for i, name := range []string{"min", "max"} {
		if v := c.Arg(i + 2); !goja.IsUndefined(v) && !goja.IsNull(v) {
			body = append(body, bson.E{Key: name, Value: c.JS.BSONValue(v)})
		}
	}
	if len(body) == 2 {
		c.JS.ThrowInvalid("moveRange needs min or max (Shard.moveRange)")
	}
	return sh.sendMove(c, c.JS.Merge(body, c.Arg(4)))
}

func shMoveChunk(c *call, sh *Helpers) goja.Value {
	body := bson.D{{Key: "moveChunk", Value: c.Text(0)}}
	if c.Has(1) {
		body = append(body, bson.E{Key: "find", Value: c.JS.BSONValue(c.Arg(1))})
	}
	if c.Has(2) {
		body = append(body, bson.E{Key: "to", Value: c.JS.BSONValue(c.Arg(2))})
	}
	return sh.sendMove(c, c.JS.Merge(body, c.Arg(3)))
}

// sendMove sends a move. If the reply is lost, it reads the outcome from the cluster before it throws
// an error.
func (h *Helpers) sendMove(c *call, body bson.D) goja.Value {
	asked := parseMove(rawdoc.MustMarshal(body))
	// Users who may not read the log also see moves before this one, in case the reply is lost.
	asked.LogBefore, _ = live.ReadEndOfLogQuickly(c.JS.Context(), h.commandRunner(), live.ChangeLog)
	reply, err := c.host.Gateway.Send(h.current().Sibling("admin").Request(h.withMaxTime(body)))
	if err == nil {
		return c.host.Display.ReplyValue(reply)
	}
	lost := c.host.Gateway.ErrorOf(err)
	if !server.IsOutcomeUnknown(err) {
		panic(lost)
	}
	m := unansweredMove{c: c, sh: h, answerErr: lost, move: asked}
	return m.await()
}

func parseMove(body bson.Raw) live.UnansweredMove {
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

// unansweredMove is a move whose reply was lost.
type unansweredMove struct {
	c         *call
	sh        *Helpers
	answerErr *goja.Object // the error
	move      live.UnansweredMove
}

// await waits until the outcome of the move is known. It returns the reply that the command would have
// returned, or throws.
func (m *unansweredMove) await() goja.Value {
	what := fmt.Sprintf("the move of %s to %s", m.move.Namespace, m.move.To)
	w := &wait{
		host:          m.c.host,
		continuesText: what + " may be running or done",
		progressHint:  "see show migrations; running it again is safe",
		timeout:       defaultWaitTimeout,
		interval:      time.Second,
		answerTimeout: moveAnswerTimeout,
		progress:      m.c.host.Display.NewProgress(true),
	}
	var is live.MoveOutcome
	w.waitUntilDone(func() workState {
		is = m.readOutcome()
		if is.State == live.MoveRunning && !w.warnedUnanswered {
			w.warnedUnanswered = true
			m.c.JS.Out.Warn(fmt.Sprintf("The connection was lost (%s); %s continues, waiting for it.", m.message(), what))
			w.continuesText = what + " continues"
		}
		return workState{done: is.State != live.MoveRunning, unfinishedText: what + " is still in progress: show migrations"}
	})
	switch {
	case is.State == live.MoveDone:
		if !w.warnedUnanswered {
			m.c.JS.Out.Warn(fmt.Sprintf("The connection was lost (%s), but %s succeeded.", m.message(), what))
		}
		return m.c.host.Display.ReplyValue(rawdoc.MustMarshal(bson.D{{Key: "ok", Value: 1.0}}))
	case script.Property(m.answerErr, "codeName") != nil: // errors of a server are not changed
	case is.State == live.MoveFailed:
		m.c.JS.Throw(script.RuntimeErrorName, "the connection was lost (%s), and %s failed: %s", m.message(), what, is.Error)
	default:
		script.Define(m.answerErr, "message", m.c.JS.Runtime.ToValue(fmt.Sprintf(
			"%s; %s did not start, the range is on %s: run it again", m.message(), what, is.Owner)))
	}
	panic(m.answerErr)
}

func (m *unansweredMove) message() string { return script.OptionalText(m.answerErr.Get("message")) }

// readOutcome reads the outcome of the move; it throws errors.
func (m *unansweredMove) readOutcome() live.MoveOutcome {
	is, err := live.ReadMoveOutcome(m.c.JS.Context(), m.sh.commandRunner(), m.move)
	if err != nil {
		m.c.host.Gateway.Throw(err)
	}
	return is
}
