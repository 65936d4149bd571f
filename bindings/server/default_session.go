package server

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// killWait is how long to wait for the server to kill an operation after Ctrl-C. With it, a run on a
// hanging connection ends within a second, even on a busy machine.
const killWait = 400 * time.Millisecond

// ensureDefaultSession returns the default session of a connection, for commands outside of a script's
// own sessions; nil when sessions are not available. Because the shell knows the session's id, Ctrl-C
// can kill an operation on every shard.
func (c *Conn) ensureDefaultSession() *mongo.Session {
	if c.defaultSession == nil {
		sess, err := c.Client.StartSession(options.Session().SetCausalConsistency(false))
		if err != nil {
			return nil
		}
		c.defaultSession = sess
	}
	return c.defaultSession
}

// noteSent records the session of the command that is being sent.
func (g *Gateway) noteSent(m *Conn, sess *mongo.Session) { g.lastSent.on, g.lastSent.session = m, sess }

// Interrupt ends a script whose context has ended while a command ran: it tells the server to kill the
// operation. The guard does not check this command, because it only ends operations of the shell
// itself.
func (g *Gateway) Interrupt() {
	if m, sess := g.lastSent.on, g.lastSent.session; m != nil && sess != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(g.JS.Context()), killWait)
		defer cancel()
		// The result is ignored: the operation may have ended by itself, or the server may be
		// unreachable.
		_ = m.Client.Database("admin").RunCommand(ctx, bson.D{{Key: "killSessions", Value: bson.A{sess.ID()}}}).Err()
		if m.defaultSession == sess {
			m.defaultSession = nil // not ended: the driver would reuse it, although the server has killed it
		}
		g.noteSent(nil, nil)
	}
	g.JS.Abort(context.Cause(g.JS.Context()))
}

// EndDefaultSession ends the default session of commands.
func (c *Conn) EndDefaultSession(ctx context.Context) {
	if c.defaultSession != nil {
		c.defaultSession.EndSession(ctx)
		c.defaultSession = nil
	}
}
