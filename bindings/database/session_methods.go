package database

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

func (m *Mongo) newSession(c *script.Call, from *goja.Object) *Session {
	s := m.host
	given := sessionOptions(s.JS, from)
	opts := options.Session()
	if v := script.Property(given, "causalConsistency"); v != nil {
		opts.SetCausalConsistency(v.ToBoolean())
	}
	if v := script.Property(given, "snapshot"); v != nil {
		opts.SetSnapshot(v.ToBoolean())
	}
	if o, ok := script.Property(given, "defaultTransactionOptions").(*goja.Object); ok {
		opts.SetDefaultTransactionOptions(transactionOptions(c, o))
	}
	started, err := m.Client.StartSession(opts)
	if err != nil {
		s.Gateway.Throw(err)
	}
	sess := &Session{conn: m, driverSession: started, optionsObject: given, databases: make(map[string]*Database)}
	sess.object = s.JS.NewInstance(sess, s.Prototypes.Session())
	s.JS.Values.SetPrinter(sess.object, func() string { return s.Display.Inspect(s.JS.Values.DocToJS(started.ID())) })
	return sess
}

// sessionOptions separates the options of the session from those of its transactions, and drops other
// options.
func sessionOptions(js *script.Engine, from *goja.Object) *goja.Object {
	given, transactions := js.Runtime.NewObject(), js.Runtime.NewObject()
	for _, name := range []string{"readConcern", "writeConcern", "readPreference", "maxCommitTimeMS"} {
		if v := script.Property(from, name); v != nil {
			script.Must(transactions.Set(name, v))
		}
	}
	if len(transactions.Keys()) > 0 {
		script.Must(given.Set("defaultTransactionOptions", transactions))
	}
	for _, name := range []string{"causalConsistency", "snapshot", "defaultTimeoutMS"} {
		if v := script.Property(from, name); v != nil {
			script.Must(given.Set(name, v))
		}
	}
	if script.Flag(given, "causalConsistency", false) && script.Flag(given, "snapshot", false) {
		js.Throw("MongoInvalidArgumentError", "Properties \"causalConsistency\" and \"snapshot\" are mutually exclusive")
	}
	return given
}

// transactionOptions parses readConcern, writeConcern and readPreference. The driver has no
// maxCommitTimeMS.
func transactionOptions(c *script.Call, o *goja.Object) *options.TransactionOptionsBuilder {
	opts := options.Transaction()
	if v, ok := script.Property(o, "readConcern").(*goja.Object); ok {
		opts.SetReadConcern(&readconcern.ReadConcern{Level: script.OptionalText(v.Get("level"))})
	}
	if v, ok := script.Property(o, "writeConcern").(*goja.Object); ok {
		wc := &writeconcern.WriteConcern{}
		switch w := c.JS.Document(v).Lookup("w"); w.Type {
		case bson.TypeString:
			wc.W = w.StringValue()
		default:
			if n, ok := w.AsInt64OK(); ok {
				wc.W = int(n)
			}
		}
		if j := script.Property(v, "j"); j != nil {
			journal := j.ToBoolean()
			wc.Journal = &journal
		}
		opts.SetWriteConcern(wc)
	}
	if preference := readPreferenceOption(c.JS, o); preference != nil {
		opts.SetReadPreference(preference)
	}
	return opts
}

// isCausal reports whether the session is causally consistent, which is the default.
func (sess *Session) isCausal() bool {
	o := sess.optionsObject
	return script.Flag(o, "causalConsistency", true) && !script.Flag(o, "snapshot", false)
}

// withAfterClusterTime adds afterClusterTime to the reads of a causally consistent session, because a
// secondary may lag. The driver does this only for its own read methods, not for commands.
func (d *Database) withAfterClusterTime(body bson.D) bson.D {
	if d.session == nil || !d.session.isCausal() || d.inTransaction() {
		return body
	}
	at := d.session.driverSession.OperationTime()
	if at == nil {
		return body
	}
	after := bson.E{Key: "afterClusterTime", Value: *at}
	for i, e := range body {
		if e.Key == "readConcern" {
			var concern bson.D
			given, isDoc := rawdoc.MustMarshal(bson.D{e}).Lookup(e.Key).DocumentOK()
			if !isDoc || bson.Unmarshal(given, &concern) != nil {
				return body // the server reports the error in it
			}
			body[i].Value = append(concern, after)
			return body
		}
	}
	return append(body, bson.E{Key: "readConcern", Value: bson.D{after}})
}

func sessionMethods() script.Methods[*Session] {
	return script.Methods[*Session]{
		{"getDatabase", "name:string", func(c *script.Call, sess *Session) goja.Value {
			return sess.database(c.Text(0)).object
		},
			"Returns a database whose commands belong to this session."},
		{"startTransaction", "options?:object", func(c *script.Call, sess *Session) goja.Value {
			sess.checkTransactionStep(c, sess.startTransaction(c, c.Object(0)))
			return nil
		}, "Starts a transaction."},
		{"commitTransaction", "", func(c *script.Call, sess *Session) goja.Value {
			sess.checkTransactionStep(c, sess.driverSession.CommitTransaction(c.JS.Context()))
			return nil
		}, "Commits the transaction."},
		{"abortTransaction", "", func(c *script.Call, sess *Session) goja.Value {
			sess.checkTransactionStep(c, sess.driverSession.AbortTransaction(c.JS.Context()))
			return nil
		}, "Aborts the transaction."},
		{"withTransaction", "f:function options?:object", sessionWithTransaction,
			"Runs a function in a transaction, again when it has to."},
		{"endSession", "", func(c *script.Call, sess *Session) goja.Value {
			sess.driverSession.EndSession(context.WithoutCancel(c.JS.Context()))
			sess.ended = true
			return nil
		}, "Ends the session."},
		{
			"getSessionId",
			"",
			func(c *script.Call, sess *Session) goja.Value { return c.JS.Values.DocToJS(sess.driverSession.ID()) },
			"Returns the session's id, as commands carry it.",
		},
		{"getClient", "", func(_ *script.Call, sess *Session) goja.Value {
			return sess.conn.Object()
		}, "Returns the connection."},
		{"hasEnded", "", func(c *script.Call, sess *Session) goja.Value { return c.JS.Runtime.ToValue(sess.ended) },
			"Returns whether the session was ended."},
		{"getOptions", "", func(_ *script.Call, sess *Session) goja.Value { return sess.optionsObject },
			"Returns the options the session was started with."},
		{"getClusterTime", "", func(c *script.Call, sess *Session) goja.Value {
			return server.ClusterTime(c.JS, sess.driverSession.ClusterTime())
		},
			"Returns the newest cluster time seen."},
		{"getOperationTime", "", func(c *script.Call, sess *Session) goja.Value {
			if t := sess.driverSession.OperationTime(); t != nil {
				return c.JS.FromGo(*t)
			}
			return nil
		}, "Returns the newest operation time seen."},
		{"advanceClusterTime", "clusterTime:object", func(c *script.Call, sess *Session) goja.Value {
			doc := c.JS.Document(c.Arg(0))
			if _, _, ok := doc.Lookup("clusterTime").TimestampOK(); !ok {
				c.JS.Throw("MongoInvalidArgumentError",
					"Input cluster time \"clusterTime\" property must be a valid BSON Timestamp")
			}
			sess.checkTransactionStep(c,
				sess.driverSession.AdvanceClusterTime(rawdoc.MustMarshal(bson.D{{Key: "$clusterTime", Value: doc}})))
			return nil
		}, "Takes over a cluster time another session saw."},
		{"advanceOperationTime", "time:object", func(c *script.Call, sess *Session) goja.Value {
			t, i, ok := c.JS.BSONValue(c.Arg(0)).TimestampOK()
			if !ok {
				c.JS.Throw("MongoInvalidArgumentError", "Operation time must be a valid BSON Timestamp")
			}
			sess.checkTransactionStep(c, sess.driverSession.AdvanceOperationTime(&bson.Timestamp{T: t, I: i}))
			return nil
		}, "Takes over an operation time another session saw."},
		{"bulkWrite", "models:object options?:object", func(c *script.Call, sess *Session) goja.Value {
			return sess.database("admin").clientBulkWrite(c)
		}, "Does a list of writes to several collections."},
	}
}

func (sess *Session) startTransaction(c *script.Call, o *goja.Object) error {
	if sess.ended {
		c.JS.Throw("MongoExpiredSessionError", server.SessionEndedText)
	}
	if o == nil {
		return sess.conn.StartTransaction(sess.driverSession)
	}
	return sess.conn.StartTransaction(sess.driverSession, transactionOptions(c, o))
}

// checkTransactionStep throws the error of a transaction step.
func (sess *Session) checkTransactionStep(c *script.Call, err error) {
	if err == nil {
		return
	}
	text := err.Error()
	if text == "transactions are not supported in snapshot sessions" {
		c.JS.Throw("MongoCompatibilityError", "Transactions are not supported in snapshot sessions")
	}
	if slices.Contains(transactionStateErrors(), text) {
		c.JS.Throw("MongoTransactionError", "%s", humanize.Capitalized(text))
	}
	if _, err = sess.conn.host.Gateway.HandleReply(nil, err); err != nil {
		sess.conn.host.Gateway.Throw(err)
	}
}

// transactionStateErrors returns the driver's errors for a step that is invalid in the current state.
// The driver has no exported names for them.
func transactionStateErrors() []string {
	return []string{
		"no transaction started", "transaction already in progress",
		"cannot call abortTransaction after calling commitTransaction",
		"cannot call abortTransaction twice", "cannot call commitTransaction after calling abortTransaction",
		"transactions do not support unacknowledged write concerns",
	}
}

// transactionTimeout limits the retries of withTransaction, as all drivers
// do.
const transactionTimeout = 120 * time.Second

// transactionTries is one call of withTransaction.
type transactionTries struct {
	*script.Call
	session  *Session
	callback goja.Callable
	end      time.Time
}

// sessionWithTransaction commits the transaction of the function, or aborts it if the function throws.
// It retries transient errors: the whole transaction for TransientTransactionError, the commit for
// UnknownTransactionCommitResult.
func sessionWithTransaction(c *script.Call, sess *Session) goja.Value {
	f, _ := goja.AssertFunction(c.Arg(0))
	t := &transactionTries{c, sess, f, c.JS.Clock.Now().Add(transactionTimeout)}
	return t.run()
}

func (t *transactionTries) run() goja.Value {
	for {
		t.session.checkTransactionStep(t.Call, t.session.startTransaction(t.Call, t.Object(1)))
		v, err := t.callback(goja.Undefined(), t.session.object)
		if err != nil {
			if t.abort(script.ThrownBy(err)) {
				continue
			}
			t.JS.Rethrow(err)
		}
		// A fulfilled promise is that of an async function without an await: it commits at once, as scripts that
		// do not await the call expect.
		if p, ok := script.AsPromise(v); ok && p.State() != goja.PromiseStateFulfilled {
			return t.awaitPromise(v.(*goja.Object))
		}
		if t.commit() {
			return v
		}
	}
}

// awaitPromise ends the transaction of an async function when its promise is settled. It returns a promise of
// the outcome.
func (t *transactionTries) awaitPromise(promise *goja.Object) goja.Value {
	then, _ := goja.AssertFunction(promise.Get("then"))
	outcome, err := then(promise,
		t.JS.NewFunction("fulfilled", func(c *script.Call) goja.Value {
			if t.session.ended { // and with it its transaction
				c.JS.Throw("MongoExpiredSessionError", server.SessionEndedText)
			}
			if t.commit() {
				return c.Arg(0)
			}
			return t.run()
		}),
		t.JS.NewFunction("rejected", func(c *script.Call) goja.Value {
			if t.abort(c.Arg(0)) {
				return t.run()
			}
			panic(c.Arg(0))
		}))
	t.JS.Check(err)
	return outcome
}

// abort aborts the transaction because of what the function has thrown. It reports whether to run it again.
func (t *transactionTries) abort(thrown goja.Value) (again bool) {
	if t.session.driverSession.TransactionRunning() {
		_ = t.session.driverSession.AbortTransaction(context.WithoutCancel(t.JS.Context()))
	}
	return hasErrorLabel(t.Call, thrown, "TransientTransactionError") && t.JS.Clock.Now().Before(t.end)
}

// commit reports whether the transaction has ended; it has to run again if not.
func (t *transactionTries) commit() (ended bool) {
	if !t.session.driverSession.TransactionRunning() { // the function has ended the transaction itself
		return true
	}
	again, err := t.session.commitUntilKnown(t.Call, t.end)
	if !again {
		t.session.checkTransactionStep(t.Call, err)
	}
	return !again
}

// commitUntilKnown retries the commit until its outcome is known. It reports whether the whole
// transaction has to be retried.
func (sess *Session) commitUntilKnown(c *script.Call, end time.Time) (retryTransaction bool, err error) {
	for {
		err = sess.driverSession.CommitTransaction(c.JS.Context())
		var command mongo.CommandError
		if err == nil || c.JS.Context().Err() != nil || !errors.As(err, &command) || !c.JS.Clock.Now().Before(end) {
			return false, err
		}
		switch {
		case command.HasErrorLabel("UnknownTransactionCommitResult") && server.CodeOf(err) != mongoerr.MaxTimeMSExpired:
		case command.HasErrorLabel("TransientTransactionError"):
			return true, nil
		default:
			return false, err
		}
	}
}

// hasErrorLabel reports whether a script's error has an error label of the server.
func hasErrorLabel(c *script.Call, thrown goja.Value, label string) bool {
	o, _ := thrown.(*goja.Object)
	set, _ := script.Property(o, "errorLabelSet").(*goja.Object)
	if set == nil {
		return false
	}
	has, _ := goja.AssertFunction(set.Get("has"))
	v, err := has(set, c.JS.Runtime.ToValue(label))
	return err == nil && v.ToBoolean()
}
