// Package router implements the mock cluster's mongos and its members: the checks of a command before it
// runs, and the handling of its reply (docs/rules, part 03). The packages below it implement the
// commands, one package for each family. commands.go builds the command table from them.
package router

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/sampling"
	"shardsh/balancer/mock/router/servers"
	"shardsh/balancer/mock/routing"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// commandTime is the virtual time that one command takes.
const commandTime = time.Millisecond

// Router executes commands as a mongos of the mock cluster or as one of its members. It checks each
// command, runs its handler and completes the reply.
type Router struct{ *call.Node }

var _ wire.Handler = (*Router)(nil)

// Option configures a router.
type Option func(*Router)

// WithUsers sets the users that clients can authenticate as. If required is true, an unauthenticated
// client may only authenticate.
func WithUsers(d *access.Directory, required bool) Option {
	return func(r *Router) {
		r.AuthRequired = required
		if d != nil {
			r.Users = d
		}
	}
}

// WithCursorTimeout sets the real time after which an idle cursor is closed.
func WithCursorTimeout(d time.Duration) Option {
	return func(r *Router) { r.Cursors.IdleTimeout = d }
}

// WithBudget limits the memory of commands. Routers with the same budget share the limit.
func WithBudget(b *quota.Budget) Option {
	return func(r *Router) { r.Budget = b }
}

// New returns a router. A nil logger discards all messages.
func New(c *mock.Cluster, logger *slog.Logger, options ...Option) *Router {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	r := &Router{&call.Node{
		Cluster:    c,
		Logger:     logger,
		Commands:   commandTable(c.Release()),
		CommandsOf: commandTable,
		Stages:     initialStages(),
		ProcessID:  bson.NewObjectID(),
		Started:    time.Now(),
		Cursors: call.Cursors{Rand: rand.New(rand.NewPCG(1, 2)), IdleTimeout: call.CursorTimeout,
			MaxBytes: call.MaxCursorBytes},
		Counters:   call.NewCounters(),
		Parameters: servers.DefaultParameters(c.Release()),
		Users:      access.NewDirectory(),
		Budget:     quota.NewBudget(0),
		Sessions:   &call.Sessions{},
		Analyzers:  sampling.Analyzers{},
		Routes:     &routing.Cache{},
	}}
	for _, change := range options {
		change(r)
	}
	c.Lock()
	defer c.Unlock()
	r.Entry = c.Routers().List()[0]
	c.Workloads().OnWork = r.countWorkload(rand.New(rand.NewPCG(3, 4)))
	r.restore()
	return r
}

// Handle executes one command and returns the reply.
func (r *Router) Handle(ctx context.Context, req wire.Request) (reply bson.Raw) {
	counted := r.Counters.Begin(req)
	defer func() { counted(reply) }() // also after a panic
	return r.handle(ctx, req)
}

// countWorkload returns a function that counts the operations of a workload as if this router had
// forwarded them.
func (r *Router) countWorkload(random *rand.Rand) func(mock.Work) {
	return func(w mock.Work) {
		for _, n := range w.Counts {
			r.Counters.Queried.Add(int64(n.Reads))
			r.Counters.Inserted.Add(int64(n.Inserts))
			r.Counters.Updated.Add(int64(n.Updates))
			r.Counters.Deleted.Add(int64(n.Deletes))
		}
		r.Analyzers.RecordWorkload(random, w)
	}
}

// Leave is called when a connection ends.
func (r *Router) Leave(client *wire.ClientConn) {
	if client.State != nil {
		r.Counters.OpenConnections.Add(-1)
	}
}

func (r *Router) handle(ctx context.Context, req wire.Request) bson.Raw {
	cmd := r.Command(req.Command)
	c := r.Begin(ctx, req)
	r.LogoutDropped(c.Conn)
	if r.isCrashedMember() {
		c.DropConnection()
		return r.reply(nil, call.ErrConnectionClosed())
	}
	if cmd != nil {
		if err := r.RequireLogin(cmd, c); err != nil {
			return r.reply(nil, err)
		}
	}
	fault := r.failPointFor(cmd, c)
	if reply, done := r.failBefore(ctx, fault, c); done {
		return reply
	}
	if cmd != nil && cmd.WithoutLock {
		if err := r.failWithoutLock(cmd, c); err != nil {
			return r.reply(nil, err)
		}
		return r.reply(r.runWithoutLock(cmd, c))
	}
	if v := c.Body.Lookup("lsid"); !v.IsZero() {
		c.LSID, c.LSIDErr = c.ReadSessionID("OperationSessionInfo.lsid", v)
	}
	if r.Cluster.ClockUnderLock().IsRealTime() {
		c.Now = r.Cluster.ClockUnderLock().NowUnlocked()
	}
	ctx, kill := context.WithCancelCause(ctx)
	defer r.Operations.Begin(req.Command, c, kill)()
	ctx, account := r.Budget.OpenWithCancel(ctx, kill)
	defer account.Close()
	c.Ctx = ctx
	defer c.End()
	release, err := r.checkOutSession(c)
	if err != nil {
		return r.reply(nil, err)
	}
	defer release()
	fields, written, err := r.checkAndRun(cmd, c)
	reply, late := r.delayReply(c, r.reply(fields, err))
	if err := written(ctx); err != nil {
		return r.reply(nil, err)
	}
	_ = clock.Sleep(ctx, late) // an early end changes nothing
	return fault.AddWriteConcernError(reply)
}

// checkAndRun runs a command with the cluster's lock held, except for computations. The reply may be sent
// after written returns, when the changes of the command are on disk. On real time the time of arrival
// is known without the lock, so perform checks the command before it takes the lock.
func (r *Router) checkAndRun(cmd *call.Command, c *call.Call) (
	fields bson.D, written func(context.Context) error, err error) {
	if !c.Now.IsZero() {
		if err = r.check(cmd, c); err == nil {
			c.PreparedFind.Prepare(cmd, c)
		}
	}
	r.Cluster.Lock()
	defer r.Cluster.Unlock()
	if c.Now.IsZero() {
		r.Cluster.ClockUnderLock().Spend(commandTime)
		c.Now = r.Cluster.Now()
		err = r.check(cmd, c)
	}
	if err == nil {
		fields, err = r.run(cmd, c)
	}
	r.StoreWrites(c)
	return fields, submitChanges(cmd, c), err
}

// run runs a checked command.
func (r *Router) run(cmd *call.Command, c *call.Call) (bson.D, error) {
	if c.StateGeneration != r.Cluster.ClockUnderLock().Replacements() {
		c.StateGeneration = r.Cluster.ClockUnderLock().Replacements() // the state was replaced, with other users
		if err := r.CheckPrivileges(cmd, c); err != nil {
			return nil, err
		}
	}
	applyDefaultMaxTime(cmd, c)
	if err := checkDisk(cmd, c); err != nil {
		return nil, err
	}
	if !cmd.MockOnly && r.Member == nil {
		return r.runInCluster(cmd, c)
	}
	c.Request = r.Cluster.BackgroundRequest()
	return cmd.Run(c)
}

// runWithoutLock runs a command that does not use the cluster.
func (r *Router) runWithoutLock(cmd *call.Command, c *call.Call) (bson.D, error) {
	c.Now = r.Cluster.ClockUnderLock().NowUnlocked()
	if err := r.checkFirst(cmd, c); err != nil {
		return nil, err
	}
	if err := args.CheckDuplicateKeys(c.Body.Raw); err != nil {
		return nil, err
	}
	if err := r.CheckPrivileges(cmd, c); err != nil {
		return nil, err
	}
	if err := parseRest(c, cmd); err != nil {
		return nil, err
	}
	return cmd.Run(c)
}

// check rejects a request in the server's order (rules/03-commands §0.4).
func (r *Router) check(cmd *call.Command, c *call.Call) error {
	if cmd == nil {
		return mongoerr.New(mongoerr.CommandNotFound, "no such command: '%s'", c.InvokedAs)
	}
	c.Cmd, c.StateGeneration = cmd, r.Cluster.ClockUnderLock().Replacements()
	if err := r.checkFirst(cmd, c); err != nil {
		return err
	}
	if err := setSnapshotTime(c, cmd); err != nil {
		return err
	}
	if c.DB == "local" && r.Member == nil {
		return mongoerr.New(mongoerr.IllegalOperation, "Can't use 'local' database through mongos")
	}
	if !catalog.ValidDatabaseName(c.DB) {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", c.DB)
	}
	if err := args.CheckDuplicateKeys(c.Body.Raw); err != nil {
		return err
	}
	if cmd.AdminOnly && c.DB != "admin" {
		return mongoerr.New(mongoerr.Unauthorized, "%s may only be run against the admin database.", cmd.Name)
	}
	if err := r.CheckPrivileges(cmd, c); err != nil {
		return err
	}
	if err := checkClusterTime(c); err != nil {
		return err
	}
	if err := r.useSession(cmd, c); err != nil {
		return err
	}
	return parseRest(c, cmd)
}

// checkFirst makes the checks that a server makes first, for any command: the fields that are parsed at
// once, then the generic arguments.
func (r *Router) checkFirst(cmd *call.Command, c *call.Call) error {
	if err := rejectObsoleteMaxTime(c); err != nil {
		return err
	}
	first, err := cmd.ParseFirst(c.Body.Raw)
	if err != nil {
		return rewriteEmptyNameError(cmd, c, err)
	}
	c.Args = first
	if name := args.Text(c.Body.Lookup(c.InvokedAs)); strings.HasPrefix(name, ".") && cmd.ParsesValueAsCollection() {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s.%s'", c.DB, name)
	}
	if err := readMaxTime(c, c.Now); err != nil {
		return err
	}
	if err := checkAPIVersion(c, cmd); err != nil {
		return err
	}
	return checkConcerns(c, cmd)
}

// parseRest parses the fields that have not been parsed yet.
func parseRest(c *call.Call, cmd *call.Command) (err error) {
	c.Args, err = cmd.ParseRest(c.Body.Raw, c.Args)
	return rewriteEmptyNameError(cmd, c, err)
}

// rewriteEmptyNameError rewrites the error about an empty collection name: servers name only the database in it. For
// count, any value that is not a string is an empty name.
func rewriteEmptyNameError(cmd *call.Command, c *call.Call, err error) error {
	name, isText := c.Body.Lookup(c.InvokedAs).StringValueOK()
	noName := isText && name == "" || !isText && cmd.Name == "count"
	if noName && mongoerr.Is(err, mongoerr.InvalidNamespace) && cmd.HasHandParsedCollection() {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s'", c.DB)
	}
	return err
}

// reply returns the complete reply: the fields of the command or the error, then the gossip fields of
// every reply (rules/03-commands §0.3).
func (r *Router) reply(fields bson.D, err error) bson.Raw {
	if err != nil {
		fields = mongoerr.Reply(err)
		var known *mongoerr.ServerError
		if !errors.As(err, &known) {
			r.Logger.Error("command failed inside the mock", "error", err)
		}
	} else if !slices.ContainsFunc(fields, func(e bson.E) bool { return e.Key == "ok" }) {
		fields = append(fields, bson.E{Key: "ok", Value: 1.0})
	}
	var room [clusterTimeBytes]byte
	raw, marshalErr := document.EncodeWith(fields, r.appendClusterTime(room[:0]))
	if marshalErr != nil {
		r.Logger.Error("reply not encoded", "error", marshalErr)
		raw, _ = bson.Marshal(mongoerr.Reply(mongoerr.New(mongoerr.InternalError, "reply not encoded: %s", marshalErr)))
	}
	return raw
}

// clusterTimeBytes is the number of bytes that appendClusterTime appends.
const clusterTimeBytes = 128

// appendClusterTime appends the fields with the cluster time.
func (r *Router) appendClusterTime(dst []byte) []byte {
	at := r.Cluster.IDs().ClusterTime()
	start, dst := bsoncore.AppendDocumentElementStart(dst, "$clusterTime")
	dst = bsoncore.AppendTimestampElement(dst, "clusterTime", at.T, at.I)
	signature, dst := bsoncore.AppendDocumentElementStart(dst, "signature")
	dst = bsoncore.AppendBinaryElement(dst, "hash", 0, make([]byte, 20))
	dst = bsoncore.AppendInt64Element(dst, "keyId", 0)
	dst, _ = bsoncore.AppendDocumentEnd(dst, signature) // no error: the documents were started above
	dst, _ = bsoncore.AppendDocumentEnd(dst, start)
	return bsoncore.AppendTimestampElement(dst, "operationTime", at.T, at.I)
}
