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
func (m *Conn) ensureDefaultSession() *mongo.Session {
	if m.defaultSession == nil {
		sess, err := m.Client.StartSession(options.Session().SetCausalConsistency(false))
		if err != nil {
			return nil
		}
		m.defaultSession = sess
	}
	return m.defaultSession
}

// noteSent records the session of the command that is being sent.
func (s *Gateway) noteSent(m *Conn, sess *mongo.Session) { s.lastSent.on, s.lastSent.session = m, sess }

// Interrupt ends a script whose context has ended while a command ran: it tells the server to kill the
// operation. The guard does not check this command, because it only ends operations of the shell
// itself.
func (s *Gateway) Interrupt() {
	if m, sess := s.lastSent.on, s.lastSent.session; m != nil && sess != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.JS.Context()), killWait)
		defer cancel()
		// The result is ignored: the operation may have ended by itself, or the server may be
		// unreachable.
		_ = m.Client.Database("admin").RunCommand(ctx, bson.D{{Key: "killSessions", Value: bson.A{sess.ID()}}}).Err()
		if m.defaultSession == sess {
			m.defaultSession = nil // not ended: the driver would reuse it, although the server has killed it
		}
		s.noteSent(nil, nil)
	}
	s.JS.Abort(context.Cause(s.JS.Context()))
}

// EndDefaultSession ends the default session of commands.
func (m *Conn) EndDefaultSession(ctx context.Context) {
	if m.defaultSession != nil {
		m.defaultSession.EndSession(ctx)
		m.defaultSession = nil
	}
}
