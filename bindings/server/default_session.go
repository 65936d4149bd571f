package server

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// killWait is how long to wait for the server to kill what Ctrl-C interrupted. With
// what leaving takes then, a run on a line that hangs ends within a second, on a machine
// with much else to do as well.
const killWait = 400 * time.Millisecond

// ensureDefaultSession returns the default session of a connection, for commands unless the
// script started a session for them; nil when there is none to be had. That the
// shell knows its id is what lets Ctrl-C kill an operation on every shard it runs
// on.
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

// noteSent notes the session of the command that goes out now.
func (s *Gateway) noteSent(m *Conn, sess *mongo.Session) { s.lastSent.on, s.lastSent.session = m, sess }

// Interrupt ends a script whose context has ended while a command ran: the
// server is told to stop working on it. The guard has no say in that, as it
// changes nothing but what the shell itself has begun.
func (s *Gateway) Interrupt() {
	if m, sess := s.lastSent.on, s.lastSent.session; m != nil && sess != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.JS.Context()), killWait)
		defer cancel()
		// Nobody waits for the answer to an operation that is gone by itself, or
		// cannot be reached any more.
		_ = m.Client.Database("admin").RunCommand(ctx, bson.D{{Key: "killSessions", Value: bson.A{sess.ID()}}}).Err()
		if m.defaultSession == sess {
			m.defaultSession = nil // not ended: the driver would hand it out again, and the server has killed it
		}
		s.noteSent(nil, nil)
	}
	s.JS.Abort(context.Cause(s.JS.Context()))
}

// EndDefaultSession ends the session that commands belong to by default.
func (m *Conn) EndDefaultSession(ctx context.Context) {
	if m.defaultSession != nil {
		m.defaultSession.EndSession(ctx)
		m.defaultSession = nil
	}
}
