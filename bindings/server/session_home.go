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

// homeSession returns what the commands of a connection belong to unless the
// script started a session for them; nil when there is none to be had. That the
// shell knows its id is what lets Ctrl-C kill an operation on every shard it runs
// on.
func (m *Conn) homeSession() *mongo.Session {
	if m.home == nil {
		sess, err := m.Client.StartSession(options.Session().SetCausalConsistency(false))
		if err != nil {
			return nil
		}
		m.home = sess
	}
	return m.home
}

// sentIn notes the session of the command that goes out now.
func (s *Gateway) sentIn(m *Conn, sess *mongo.Session) { s.sent.on, s.sent.session = m, sess }

// Interrupt ends a script whose context has ended while a command ran: the
// server is told to stop working on it. The guard has no say in that, as it
// changes nothing but what the shell itself has begun.
func (s *Gateway) Interrupt() {
	if m, sess := s.sent.on, s.sent.session; m != nil && sess != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.JS.Context()), killWait)
		defer cancel()
		// Nobody waits for the answer to an operation that is gone by itself, or
		// cannot be reached any more.
		_ = m.Client.Database("admin").RunCommand(ctx, bson.D{{Key: "killSessions", Value: bson.A{sess.ID()}}}).Err()
		if m.home == sess {
			m.home = nil // not ended: the driver would hand it out again, and the server has killed it
		}
		s.sentIn(nil, nil)
	}
	s.JS.Abort(context.Cause(s.JS.Context()))
}

// EndHome ends the session that commands belong to by default.
func (m *Conn) EndHome(ctx context.Context) {
	if m.home != nil {
		m.home.EndSession(ctx)
		m.home = nil
	}
}
