package bindings

import (
	"context"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// session is what startSession() gives.
type session struct {
	tail
	on        *mongoObject
	driver    *mongo.Session
	databases map[string]*database
	object    *goja.Object
	ended     bool
}

func (s *Shell) newSession(m *mongoObject) *session {
	started, err := m.client.StartSession()
	if err != nil {
		s.throwServer(err)
	}
	sess := &session{on: m, driver: started, databases: make(map[string]*database)}
	sess.object = s.instance(sess, prototype(s, "Session", sessionMethods()))
	s.world.SetPrinter(sess.object, func() string { return s.inspect(s.world.DocToJS(started.ID())) })
	return sess
}

func (sess *session) database(name string) *database {
	if !validDatabaseName(name) {
		sess.on.s.throwInvalid("Invalid database name: %s", name)
	}
	d := sess.databases[name]
	if d == nil {
		d = newDatabase(sess.on.s, sess.on, name, sess)
		sess.databases[name] = d
	}
	return d
}

func sessionMethods() []method[*session] {
	return []method[*session]{
		{"getDatabase", "name:string", func(c *call, sess *session) goja.Value { return sess.database(c.text(0)).object },
			"Returns a database whose commands belong to this session."},
		{"startTransaction", "options?:object", func(c *call, sess *session) goja.Value {
			return c.transaction(sess.driver.StartTransaction())
		}, "Starts a transaction."},
		{"commitTransaction", "", func(c *call, sess *session) goja.Value {
			return c.transaction(sess.driver.CommitTransaction(c.ctx))
		}, "Commits the transaction."},
		{"abortTransaction", "", func(c *call, sess *session) goja.Value {
			return c.transaction(sess.driver.AbortTransaction(c.ctx))
		}, "Gives up the transaction."},
		{"withTransaction", "f:function options?:object", sessionWithTransaction, "Runs a function in a transaction, again when it has to."},
		{"endSession", "", func(c *call, sess *session) goja.Value {
			sess.driver.EndSession(context.WithoutCancel(c.ctx))
			sess.ended = true
			return nil
		}, "Ends the session."},
		{"hasEnded", "", func(c *call, sess *session) goja.Value { return c.rt.ToValue(sess.ended) }, "Tells whether the session was ended."},
		{"getClusterTime", "", func(c *call, sess *session) goja.Value { return c.optionalDocument(sess.driver.ClusterTime(), "") },
			"Returns the newest cluster time seen."},
		{"getOperationTime", "", func(c *call, sess *session) goja.Value {
			if t := sess.driver.OperationTime(); t != nil {
				return c.goValue(*t)
			}
			return nil
		}, "Returns the newest operation time seen."},
	}
}

func (c *call) transaction(err error) goja.Value {
	if err != nil {
		_, err = c.answer(nil, err)
		c.throwServer(err)
	}
	return nil
}

// sessionWithTransaction commits what the function did, and gives it up when the
// function throws.
func sessionWithTransaction(c *call, sess *session) goja.Value {
	f, _ := goja.AssertFunction(c.arg(0))
	c.transaction(sess.driver.StartTransaction())
	v, err := f(goja.Undefined(), sess.object)
	if err != nil {
		_ = sess.driver.AbortTransaction(context.WithoutCancel(c.ctx))
		c.rethrow(err)
	}
	c.transaction(sess.driver.CommitTransaction(c.ctx))
	return v
}
