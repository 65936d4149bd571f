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

// Guard decides about a command before it is sent. An error refuses the command
// and reaches the script; a reply is handed to the script in place of the
// cluster's and nothing is sent; neither lets the command go. That is how
// --read-only and --dry-run work.
type Guard func(database string, command bson.Raw) (reply bson.Raw, err error)

// Confirm returns an error unless a command may be sent.
type Confirm func(database string, command bson.Raw) error

// ErrStopped is the error of a Confirm after which a program ends.
var ErrStopped = errors.New("stopped: the answer was quit, and nothing more was sent")

// SendHook is called before a command is sent, and returns a callback for the answer; nil
// for none.
type SendHook func(ctx context.Context, through *mongo.Client, database string, command bson.Raw) (
	answered func(bson.Raw, error), err error)

// Checks are what commands pass before they are sent; nil ones let all pass.
type Checks struct {
	Guard   Guard
	Confirm Confirm
	OnSend  SendHook
}

// Check runs the checks. It returns a reply or an error instead of sending, or neither.
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

// Gateway sends the shell's commands to servers: it has the guard they pass,
// the connections that are open, the command that is under way.
type Gateway struct {
	JS     *script.Engine
	checks Checks
	// noRetryWrites keeps writes from being sent again after a lost connection.
	noRetryWrites   bool
	OpenConnections connections
	// lastSent is where the last command went.
	lastSent struct {
		on      *Conn
		session *mongo.Session
	}
}

// NewGateway makes a Gateway.
func NewGateway(js *script.Engine, checks Checks, noRetryWrites bool) *Gateway {
	return &Gateway{JS: js, checks: checks, noRetryWrites: noRetryWrites}
}

// NeedsConfirmation reports whether commands need confirmation; all that are sent should be
// the script's alone then.
func (s *Gateway) NeedsConfirmation() bool { return s.checks.Confirm != nil }

// WithConfirmation wraps a command runner so that its commands need confirmation.
func (s *Gateway) WithConfirmation(a live.CommandRunner) live.CommandRunner {
	return live.WithInterceptor(a, Checks{Confirm: s.checks.Confirm}.Check)
}

// HasGuard reports whether a command may be kept from being sent.
func (s *Gateway) HasGuard() bool { return s.checks.Guard != nil }

// Conn is one connection.
type Conn struct {
	gateway        *Gateway
	Client         *mongo.Client
	Address        string             // as it may be shown
	ReadPreference *readpref.ReadPref // nil for the primary
	// Settings open the connection again, as another user or to other servers; nil
	// when unknown.
	Settings       *options.ClientOptions
	hello          bson.Raw
	defaultSession *mongo.Session
	txnNumbers     map[string]int64 // that sessions have used, by their ids
	version        Version          // asked for once; zero before
}

// NewConn returns a connection through a client. Credentials in the address are
// hidden.
func NewConn(g *Gateway, client *mongo.Client, address string) *Conn {
	return &Conn{gateway: g, Client: client, Address: Redact(address)}
}

// Request is one command on its way to a server.
type Request struct {
	Conn     *Conn
	Database string
	Body     any // bson.D or bson.Raw
	// session is the script's own; nil is the connection's.
	session *mongo.Session
	// reads says that sending it twice does no harm.
	IsRead bool
	// readPreference overrides the connection's.
	ReadPreference *readpref.ReadPref
}

// Send runs a command and returns the reply. A reply of ok: 1 is not an error,
// whatever write errors it lists. Errors are the driver's; the end of the
// script's context ends the script here.
func (s *Gateway) Send(r Request) (bson.Raw, error) {
	if reply, err := s.guard(r); reply != nil || err != nil {
		return reply, err
	}
	return s.send(r)
}

// send is Send for what was checked.
func (s *Gateway) send(r Request) (bson.Raw, error) {
	answered, err := s.BeginSend(r)
	if err != nil {
		return nil, err
	}
	ctx := r.Context(s.JS.Context())
	reply, err := r.DB().RunCommand(ctx, r.Body, r.Options()).Raw()
	if s.shouldRetryRead(r, err) {
		reply, err = r.DB().RunCommand(ctx, r.Body, r.Options()).Raw()
	}
	answered(reply, err)
	return s.HandleReply(reply, err)
}

// BeginSend calls the OnSend check of a request; pass the answer to answered.
func (s *Gateway) BeginSend(r Request) (answered func(bson.Raw, error), err error) {
	nobody := func(bson.Raw, error) {}
	if s.checks.OnSend == nil {
		return nobody, nil
	}
	body, err := rawBody(r)
	if err != nil {
		return nil, err
	}
	if answered, err = s.checks.OnSend(s.JS.Context(), r.Conn.Client, r.Database, body); answered == nil {
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
func (s *Gateway) HandleReply(reply bson.Raw, err error) (bson.Raw, error) {
	if err == nil {
		return reply, nil
	}
	if s.JS.Context().Err() != nil {
		s.Interrupt()
	}
	if write, ok := errors.AsType[mongo.WriteException](err); ok {
		if write.Raw != nil {
			return write.Raw, nil
		}
		return reply, nil
	}
	return nil, err
}

// Open runs a command that answers with a cursor.
func (s *Gateway) Open(r Request) (*mongo.Cursor, error) {
	reply, err := s.guard(r)
	if err != nil {
		return nil, err
	}
	if reply != nil {
		return mongo.NewCursorFromDocuments(nil, nil, nil)
	}
	ctx := r.Context(s.JS.Context())
	c, err := r.DB().RunCommandCursor(ctx, r.Body, r.Options())
	if s.shouldRetryRead(r, err) {
		c, err = r.DB().RunCommandCursor(ctx, r.Body, r.Options())
	}
	if err != nil && s.JS.Context().Err() != nil {
		s.Interrupt()
	}
	return c, err
}

func (s *Gateway) guard(r Request) (bson.Raw, error) {
	if s.checks.Guard == nil && s.checks.Confirm == nil {
		return nil, nil
	}
	body, err := rawBody(r)
	if err != nil {
		return nil, err
	}
	reply, err := s.checks.Check(r.Database, body)
	if errors.Is(err, ErrStopped) {
		s.JS.Abort(err)
	}
	return reply, err
}

// DB returns the driver's database that the command goes to.
func (r Request) DB() *mongo.Database { return r.Conn.Client.Database(r.Database) }

// Context returns the context that carries the command's session, and notes that the
// command is under way.
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
	if pref == nil || r.session != nil && r.session.TransactionRunning() { // whose own preference the driver takes
		pref = readpref.Primary()
	}
	return options.RunCmd().SetReadPreference(pref)
}

// MustSend runs a command whose failure the script is to see.
func (s *Gateway) MustSend(r Request) bson.Raw {
	reply, err := s.Send(r)
	if err != nil {
		s.Throw(err)
	}
	return reply
}

// ReadAll reads all documents of a command that answers with a cursor.
func (s *Gateway) ReadAll(r Request) []bson.Raw {
	docs, err := s.TryReadAll(r)
	if err != nil {
		s.Throw(err)
	}
	return docs
}

// TryReadAll is All that returns its error.
func (s *Gateway) TryReadAll(r Request) ([]bson.Raw, error) {
	c, err := s.Open(r)
	if err != nil {
		return nil, err
	}
	ctx := r.Context(s.JS.Context())
	defer c.Close(ctx)
	docs := []bson.Raw{}
	for c.Next(ctx) {
		docs = append(docs, c.Current)
	}
	if err := c.Err(); err != nil {
		if s.JS.Context().Err() != nil {
			s.Interrupt()
		}
		return nil, err
	}
	return docs, nil
}

// FirstBatch returns the first documents of a reply with a cursor.
func FirstBatch(reply bson.Raw) bson.RawArray {
	batch, _ := reply.Lookup("cursor", "firstBatch").ArrayOK()
	return batch
}

// IsMongos asks once for each connection. It throws when nobody answers.
func (m *Conn) IsMongos() bool {
	hello, err := m.helloReply()
	if err != nil {
		m.gateway.Throw(err)
	}
	return rawdoc.Text(hello, "msg") == "isdbgrid"
}

func (m *Conn) helloReply() (bson.Raw, error) {
	if m.hello == nil {
		reply, err := m.gateway.Send(Request{Conn: m, Database: "admin", Body: bson.D{{Key: "hello", Value: int32(1)}},
			IsRead: true})
		if err != nil {
			return nil, err
		}
		m.hello = reply
	}
	return m.hello, nil
}

func isNetworkError(err error) bool { return err != nil && mongo.IsNetworkError(err) }
