package server

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/live"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
)

// Guard checks a command before it is sent. An error rejects the command and is thrown in the script. A
// reply is returned to the script in place of the cluster's reply, and nothing is sent. If both are
// nil, the command is sent. --read-only and --dry-run use a Guard.
type Guard func(database string, command bson.Raw) (reply bson.Raw, err error)

// Confirm returns an error unless a command may be sent.
type Confirm func(database string, command bson.Raw) error

// ErrStopped is the error of a Confirm after which a program ends.
var ErrStopped = errors.New("stopped: the answer was quit, and nothing more was sent")

// SendHook is called before a command is sent, and returns a callback for the reply; nil for none.
type SendHook func(ctx context.Context, through *mongo.Client, database string, command bson.Raw) (
	answered func(bson.Raw, error), err error)

// Checks are the checks before a command is sent; nil checks allow all commands.
type Checks struct {
	Guard   Guard
	Confirm Confirm
	OnSend  SendHook
}

// Check runs the checks. If it returns a reply or an error, the command must not be sent.
func (c Checks) Check(database string, command bson.Raw) (reply bson.Raw, err error) {
	if c.Guard != nil {
		if reply, err = c.Guard(database, command); reply != nil || err != nil {
			return reply, err
		}
	}
	if c.Confirm != nil {
		return nil, c.Confirm(database, command)
	}
	return nil, nil
}

// Gateway sends the shell's commands to servers. It holds the checks, the open connections, and the
// running command.
type Gateway struct {
	JS     *script.Engine
	checks Checks
	// noRetryWrites disables retries of writes after a lost connection.
	noRetryWrites   bool
	OpenConnections connections
	// lastSent is the connection and the session of the last command.
	lastSent struct {
		on      *Conn
		session *mongo.Session
	}
}

// NewGateway returns a Gateway.
func NewGateway(js *script.Engine, checks Checks, noRetryWrites bool) *Gateway {
	return &Gateway{JS: js, checks: checks, noRetryWrites: noRetryWrites}
}

// NeedsConfirmation reports whether commands need confirmation. In that case, the shell should send no
// commands besides those of the script.
func (g *Gateway) NeedsConfirmation() bool { return g.checks.Confirm != nil }

// WithConfirmation wraps a command runner so that its commands need confirmation.
func (g *Gateway) WithConfirmation(a live.CommandRunner) live.CommandRunner {
	return live.WithInterceptor(a, Checks{Confirm: g.checks.Confirm}.Check)
}

// HasGuard reports whether a guard may reject commands.
func (g *Gateway) HasGuard() bool { return g.checks.Guard != nil }

// Conn is a connection to a server or a cluster.
type Conn struct {
	gateway        *Gateway
	Client         *mongo.Client
	Address        string             // without credentials
	ReadPreference *readpref.ReadPref // nil for the primary
	// ClientOptions are the options to open the connection again, as another user or to other servers; nil
	// when they are unknown.
	ClientOptions  *options.ClientOptions
	hello          bson.Raw
	defaultSession *mongo.Session
	txnNumbers     map[string]int64 // the last numbers of sessions, by session id
	version        Version          // zero before it is first read
}

// NewConn returns a connection that uses a client. It hides the credentials in the address.
func NewConn(g *Gateway, client *mongo.Client, address string) *Conn {
	return &Conn{gateway: g, Client: client, Address: Redact(address)}
}

// Request is a command to be sent to a server.
type Request struct {
	Conn     *Conn
	Database string
	Body     any // bson.D or bson.Raw
	// session is the script's own session; nil for that of the connection.
	session *mongo.Session
	// IsRepeatable says that the command may be sent twice.
	IsRepeatable bool
	// ReadPreference overrides that of the connection.
	ReadPreference *readpref.ReadPref
}

// Send runs a command and returns the reply. A reply with ok: 1 is not an error, even if it has write
// errors. Errors are those of the driver. The end of the script's context ends the script here.
func (g *Gateway) Send(r Request) (bson.Raw, error) {
	if reply, err := g.guard(r); reply != nil || err != nil {
		return reply, err
	}
	return g.send(r)
}

// send works like Send, for commands that have passed the checks.
func (g *Gateway) send(r Request) (bson.Raw, error) {
	answered, err := g.RunSendHook(r)
	if err != nil {
		return nil, err
	}
	ctx := r.Context(g.JS.Context())
	reply, err := r.DB().RunCommand(ctx, r.Body, r.Options()).Raw()
	if g.shouldRetryRead(r, err) {
		reply, err = r.DB().RunCommand(ctx, r.Body, r.Options()).Raw()
	}
	answered(reply, err)
	return g.HandleReply(reply, err)
}

// RunSendHook calls the OnSend check of a request. The caller passes the reply to answered.
func (g *Gateway) RunSendHook(r Request) (answered func(bson.Raw, error), err error) {
	nobody := func(bson.Raw, error) {}
	if g.checks.OnSend == nil {
		return nobody, nil
	}
	body, err := rawBody(r)
	if err != nil {
		return nil, err
	}
	if answered, err = g.checks.OnSend(g.JS.Context(), r.Conn.Client, r.Database, body); answered == nil {
		answered = nobody
	}
	return answered, err
}

func rawBody(r Request) (bson.Raw, error) {
	if body, ok := r.Body.(bson.Raw); ok {
		return body, nil
	}
	return bson.Marshal(r.Body)
}

// HandleReply handles the driver's reply or error of a command.
func (g *Gateway) HandleReply(reply bson.Raw, err error) (bson.Raw, error) {
	if err == nil {
		return reply, nil
	}
	if g.JS.Context().Err() != nil {
		g.Interrupt()
	}
	if write, ok := errors.AsType[mongo.WriteException](err); ok {
		if write.Raw != nil {
			return write.Raw, nil
		}
		return reply, nil
	}
	return nil, err
}

// OpenCursor runs a command whose reply is a cursor.
func (g *Gateway) OpenCursor(r Request) (*mongo.Cursor, error) {
	reply, err := g.guard(r)
	if err != nil {
		return nil, err
	}
	if reply != nil {
		return mongo.NewCursorFromDocuments(nil, nil, nil)
	}
	answered, err := g.RunSendHook(r)
	if err != nil {
		return nil, err
	}
	ctx := r.Context(g.JS.Context())
	c, err := r.DB().RunCommandCursor(ctx, r.Body, r.Options())
	if g.shouldRetryRead(r, err) {
		c, err = r.DB().RunCommandCursor(ctx, r.Body, r.Options())
	}
	answered(nil, err) // the driver keeps the reply
	if err != nil && g.JS.Context().Err() != nil {
		g.Interrupt()
	}
	return c, err
}

func (g *Gateway) guard(r Request) (bson.Raw, error) {
	if g.checks.Guard == nil && g.checks.Confirm == nil {
		return nil, nil
	}
	body, err := rawBody(r)
	if err != nil {
		return nil, err
	}
	reply, err := g.checks.Check(r.Database, body)
	if errors.Is(err, ErrStopped) {
		g.JS.Abort(err)
	}
	return reply, err
}

// DB returns the driver's database of the command.
func (r Request) DB() *mongo.Database { return r.Conn.Client.Database(r.Database) }

// Context returns a context with the command's session, and records that the command is running.
func (r Request) Context(ctx context.Context) context.Context {
	sess := r.driverSession()
	r.Conn.gateway.noteSent(r.Conn, sess)
	if sess == nil {
		return ctx
	}
	return mongo.NewSessionContext(ctx, sess)
}

func (r Request) driverSession() *mongo.Session {
	if r.session != nil {
		return r.session
	}
	return r.Conn.ensureDefaultSession()
}

// Options returns the driver's options for the command.
func (r Request) Options() *options.RunCmdOptionsBuilder {
	pref := r.ReadPreference
	if pref == nil {
		pref = r.Conn.ReadPreference
	}
	if pref == nil || r.session != nil && r.session.TransactionRunning() { // has its own preference
		pref = readpref.Primary()
	}
	return options.RunCmd().SetReadPreference(pref)
}

// MustSend runs a command and throws its error.
func (g *Gateway) MustSend(r Request) bson.Raw {
	reply, err := g.Send(r)
	if err != nil {
		g.Throw(err)
	}
	return reply
}

// ReadAll returns all documents of a command whose reply is a cursor.
func (g *Gateway) ReadAll(r Request) []bson.Raw {
	docs, err := g.TryReadAll(r)
	if err != nil {
		g.Throw(err)
	}
	return docs
}

// TryReadAll works like ReadAll, but returns the error.
func (g *Gateway) TryReadAll(r Request) ([]bson.Raw, error) {
	c, err := g.OpenCursor(r)
	if err != nil {
		return nil, err
	}
	ctx := r.Context(g.JS.Context())
	defer c.Close(ctx)
	docs := []bson.Raw{}
	for c.Next(ctx) {
		docs = append(docs, c.Current)
	}
	if err := c.Err(); err != nil {
		if g.JS.Context().Err() != nil {
			g.Interrupt()
		}
		return nil, err
	}
	return docs, nil
}

// FirstBatch returns the first batch of a reply with a cursor.
func FirstBatch(reply bson.Raw) bson.RawArray {
	batch, _ := reply.Lookup("cursor", "firstBatch").ArrayOK()
	return batch
}

// IsMongos reports whether the server is a mongos. It asks once for each connection, and throws when
// the server does not answer.
func (c *Conn) IsMongos() bool {
	hello, err := c.helloReply()
	if err != nil {
		c.gateway.Throw(err)
	}
	return rawdoc.Text(hello, "msg") == "isdbgrid"
}

func (c *Conn) helloReply() (bson.Raw, error) {
	if c.hello == nil {
		reply, err := c.gateway.Send(Request{Conn: c, Database: "admin", Body: bson.D{{Key: "hello", Value: int32(1)}},
			IsRepeatable: true})
		if err != nil {
			return nil, err
		}
		c.hello = reply
	}
	return c.hello, nil
}

func isNetworkError(err error) bool { return err != nil && mongo.IsNetworkError(err) }
