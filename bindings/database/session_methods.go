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
	is := func(name string) bool { v := script.Property(given, name); return v != nil && v.ToBoolean() }
	if is("causalConsistency") && is("snapshot") {
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
	if v := script.Property(o, "readPreference"); v != nil {
		mode, tags := v, goja.Undefined()
		if pref, ok := v.(*goja.Object); ok {
			mode, tags = script.OrUndefined(script.Property(pref, "mode")), script.OrUndefined(script.Property(pref, "tags"))
		}
		opts.SetReadPreference(server.ParseReadPreference(c.JS, mode, tags, goja.Undefined()))
	}
	return opts
}

// isCausal reports whether the session is causally consistent, which is the default.
func (sess *Session) isCausal() bool {
	is := func(name string, or bool) bool {
		v := script.Property(sess.optionsObject, name)
		return v == nil && or || v != nil && v.ToBoolean()
	}
	return is("causalConsistency", true) && !is("snapshot", false)
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
			sess.checkTransactionStep(c, sess.commit(c.JS.Context()))
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

func (sess *Session) commit(ctx context.Context) error {
	return sess.driverSession.CommitTransaction(ctx)
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

// sessionWithTransaction commits the transaction of the function, or aborts it if the function throws.
// It retries transient errors: the whole transaction for TransientTransactionError, the commit for
// UnknownTransactionCommitResult.
func sessionWithTransaction(c *script.Call, sess *Session) goja.Value {
	f, _ := goja.AssertFunction(c.Arg(0))
	end := c.JS.Clock.Now().Add(transactionTimeout)
	for {
		sess.checkTransactionStep(c, sess.startTransaction(c, c.Object(1)))
		v, err := f(goja.Undefined(), sess.object)
		if err != nil {
			if sess.driverSession.TransactionRunning() {
				_ = sess.driverSession.AbortTransaction(context.WithoutCancel(c.JS.Context()))
			}
			if hasErrorLabel(c, err, "TransientTransactionError") && c.JS.Clock.Now().Before(end) {
				continue
			}
			c.JS.Rethrow(err)
		}
		if !sess.driverSession.TransactionRunning() { // the function has ended the transaction itself
			return v
		}
		again, err := sess.commitUntilKnown(c, end)
		if again {
			continue
		}
		sess.checkTransactionStep(c, err)
		return v
	}
}

// commitUntilKnown retries the commit until its outcome is known. It reports whether the whole
// transaction has to be retried.
func (sess *Session) commitUntilKnown(c *script.Call, end time.Time) (retryTransaction bool, err error) {
	for {
		err = sess.commit(c.JS.Context())
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
func hasErrorLabel(c *script.Call, err error, label string) bool {
	o, _ := script.ThrownBy(err).(*goja.Object)
	set, _ := script.Property(o, "errorLabelSet").(*goja.Object)
	if set == nil {
		return false
	}
	has, _ := goja.AssertFunction(set.Get("has"))
	v, err := has(set, c.JS.Runtime.ToValue(label))
	return err == nil && v.ToBoolean()
}
