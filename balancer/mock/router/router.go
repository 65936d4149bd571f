// Package router is the mock cluster's mongos: what each command checks, does
// and answers (spec 03). One command, or one family, a file; the command table
// is in commands.go.
package router

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// commandTime is the virtual time that one command takes.
const commandTime = time.Millisecond

// Router answers commands as a mongos in front of the mock cluster.
type Router struct {
	cluster  *mock.Cluster
	logger   *slog.Logger
	commands map[string]*command
	cursors  cursors
	running  running
	process  bson.ObjectID
	started  time.Time
}

var _ wire.Handler = (*Router)(nil)

// New makes a router. A nil logger discards.
func New(c *mock.Cluster, logger *slog.Logger) *Router {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Router{
		cluster:  c,
		logger:   logger,
		commands: commandTable(),
		cursors:  cursors{rand: rand.New(rand.NewPCG(1, 2))},
		process:  bson.NewObjectID(),
		started:  time.Now(),
	}
}

// command is one entry of the command table.
type command struct {
	name    string
	aliases []string
	// adminOnly: refused with 13 on any other database.
	adminOnly bool
	// takesWriteConcern: others refuse the argument with 72.
	takesWriteConcern bool
	// takesReadConcern: others refuse levels other than local with 72.
	takesReadConcern bool
	// stable: in version 1 of the stable API.
	stable bool
	// strict: unknown fields are refused with 40415.
	strict bool
	// declared fields, parsed before anything else; nil for commands that read
	// their fields by hand.
	declared []field
	// outside runs without the cluster's lock and takes no virtual time.
	outside bool
	run     func(*Router, *call) (bson.D, error)
}

// call is one command under way.
type call struct {
	ctx     context.Context
	db      string
	body    bson.Raw
	args    args
	client  *wire.Client
	legacy  bool
	now     time.Time // the cluster's, when the command came
	invoked string    // the name it was called by
	// deadline comes from maxTimeMS; zero without one.
	deadline time.Time
}

// Handle answers one command.
func (r *Router) Handle(ctx context.Context, req wire.Request) bson.Raw {
	cmd := r.commands[req.Command]
	c := &call{ctx: ctx, db: req.Database, body: req.Body, client: req.Client, legacy: req.Legacy, invoked: req.Command}
	if cmd != nil && cmd.outside {
		reply, err := cmd.run(r, c)
		return r.reply(reply, err)
	}
	ctx, done := r.running.track(ctx, req.Body)
	defer done()
	c.ctx = ctx
	r.cluster.Lock()
	defer r.cluster.Unlock()
	r.cluster.Spend(commandTime)
	if cmd == nil {
		return r.reply(nil, mongoerr.New(mongoerr.CommandNotFound, "no such command: '%s'", req.Command))
	}
	c.now = r.cluster.Now()
	if err := r.check(cmd, c); err != nil {
		return r.reply(nil, err)
	}
	reply, err := cmd.run(r, c)
	return r.reply(reply, err)
}

// check rejects a request in the server's order (spec 03 §0.4).
func (r *Router) check(cmd *command, c *call) error {
	if err := c.readMaxTime(r.cluster.Now()); err != nil {
		return err
	}
	if strict, ok := c.body.Lookup("apiStrict").BooleanOK(); ok && strict && !cmd.stable {
		return mongoerr.New(mongoerr.APIStrictError, "Provided apiStrict:true, but the command %s is not in API Version 1", cmd.name)
	}
	parsed, err := parseArgs(cmd, c.body)
	if err != nil {
		return err
	}
	c.args = parsed
	level, err := c.readConcern()
	if err != nil {
		return err
	}
	if !cmd.takesWriteConcern && !c.body.Lookup("writeConcern").IsZero() {
		return mongoerr.New(mongoerr.InvalidOptions, "Command %s does not support writeConcern", cmd.name)
	}
	if level != "" && level != "local" && !cmd.takesReadConcern {
		return mongoerr.New(mongoerr.InvalidOptions, "Command %s does not support read concern %s", cmd.name, level)
	}
	if c.db == "local" {
		return mongoerr.New(mongoerr.IllegalOperation, "Can't use 'local' database through mongos")
	}
	if !catalog.ValidDatabaseName(c.db) {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", c.db)
	}
	if err := checkDuplicates(c.body); err != nil {
		return err
	}
	if cmd.adminOnly && c.db != "admin" {
		return mongoerr.New(mongoerr.Unauthorized, "%s may only be run against the admin database.", cmd.name)
	}
	// Without transactions a part of one would take effect at once and for good.
	if v := c.body.Lookup("autocommit"); !v.IsZero() {
		return mongoerr.New(mongoerr.NotImplemented, "the mock does not support transactions")
	}
	return nil
}

// readConcern reads the level asked for; "" when none is.
func (c *call) readConcern() (string, error) {
	v := c.body.Lookup("readConcern")
	if v.IsZero() {
		return "", nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return "", mongoerr.New(mongoerr.TypeMismatch, "\"readConcern\" had the wrong type. Expected object, found %s", typeName(v.Type))
	}
	v = doc.Lookup("level")
	if v.IsZero() {
		return "", nil
	}
	level, isText := v.StringValueOK()
	if !isText {
		return "", mongoerr.New(mongoerr.TypeMismatch, "\"readConcern.level\" had the wrong type. Expected string, found %s", typeName(v.Type))
	}
	switch level {
	case "local", "available", "majority", "linearizable", "snapshot":
		return level, nil
	}
	return "", mongoerr.New(mongoerr.FailedToParse, "readConcern.level must be either 'local', 'majority', 'linearizable', 'available', or 'snapshot'")
}

func (c *call) readMaxTime(now time.Time) error {
	if !c.body.Lookup("$maxTimeMs").IsZero() {
		return mongoerr.New(mongoerr.InvalidOptions, "no such command option $maxTimeMs; use maxTimeMS instead")
	}
	v := c.body.Lookup("maxTimeMS")
	if v.IsZero() {
		return nil
	}
	ms, ok := v.AsInt64OK()
	if !ok {
		return mongoerr.New(mongoerr.TypeMismatch, "maxTimeMS must be a number")
	}
	if ms < 0 || ms > math.MaxInt32 {
		return mongoerr.New(mongoerr.BadValue, "%d value for maxTimeMS is out of range", ms)
	}
	if ms > 0 {
		c.deadline = now.Add(time.Duration(ms) * time.Millisecond)
	}
	return nil
}

func checkDuplicates(body bson.Raw) error {
	elems, err := body.Elements()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	seen := make(map[string]bool, len(elems))
	for _, e := range elems {
		if seen[e.Key()] {
			return mongoerr.New(mongoerr.FailedToParse, "Parsed command object contains duplicate top level key: %s", e.Key())
		}
		seen[e.Key()] = true
	}
	return nil
}

// reply is the whole answer: the command's fields or the error, then the
// gossip fields that every reply carries (spec 03 §0.3).
func (r *Router) reply(fields bson.D, err error) bson.Raw {
	if err != nil {
		fields = mongoerr.Reply(err)
		var known *mongoerr.ServerError
		if !errors.As(err, &known) {
			r.logger.Error("command failed inside the mock", "error", err)
		}
	} else if !hasOK(fields) {
		fields = append(fields, bson.E{Key: "ok", Value: 1.0})
	}
	raw, marshalErr := bson.Marshal(append(fields, r.gossip()...))
	if marshalErr != nil {
		r.logger.Error("reply not encoded", "error", marshalErr)
		raw, _ = bson.Marshal(mongoerr.Reply(mongoerr.New(mongoerr.InternalError, "reply not encoded: %s", marshalErr)))
	}
	return raw
}

func hasOK(fields bson.D) bool {
	for _, f := range fields {
		if f.Key == "ok" {
			return true
		}
	}
	return false
}

func (r *Router) gossip() bson.D {
	at := r.cluster.GossipTime()
	return bson.D{
		{Key: "$clusterTime", Value: bson.D{
			{Key: "clusterTime", Value: at},
			{Key: "signature", Value: bson.D{
				{Key: "hash", Value: bson.Binary{Data: make([]byte, 20)}},
				{Key: "keyId", Value: int64(0)},
			}},
		}},
		{Key: "operationTime", Value: at},
	}
}

// namespace joins the call's database and a collection name given as the
// command's value.
func (c *call) namespace() (string, error) {
	v := c.body.Lookup(c.invoked)
	name, ok := v.StringValueOK()
	if !ok {
		return "", mongoerr.New(mongoerr.InvalidNamespace, "collection name has invalid type %s", typeName(v.Type))
	}
	if name == "" || strings.ContainsAny(name, "\x00") {
		return "", mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s.%s'", c.db, name)
	}
	return c.db + "." + name, nil
}
