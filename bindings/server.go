package bindings

import (
	"context"
	"errors"

	"shardsh/bindings/script"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// Guard decides about a command before it is sent. An error refuses the command
// and reaches the script; a reply is handed to the script in place of the
// cluster's and nothing is sent; neither lets the command go. That is how
// --read-only and --dry-run work.
type Guard func(database string, command bson.Raw) (reply bson.Raw, err error)

// Gateway is the way of a shell's commands to its servers: the guard they pass,
// the connections that are open, the command that is under way.
type Gateway struct {
	JS     *script.Engine
	guards Guard
	// noRetryWrites keeps writes from being sent again after a lost connection.
	noRetryWrites bool
	opened        connections
	// sent is where the last command went.
	sent struct {
		on      *Conn
		session *mongo.Session
	}
}

// NewGateway makes a Gateway. A nil guard lets all pass.
func newGateway(js *script.Engine, guard Guard, noRetryWrites bool) *Gateway {
	return &Gateway{JS: js, guards: guard, noRetryWrites: noRetryWrites}
}

// guarded reports whether a command may be kept from being sent.
func (s *Gateway) guarded() bool { return s.guards != nil }

// Conn is one connection.
type Conn struct {
	gateway        *Gateway
	client         *mongo.Client
	readPreference *readpref.ReadPref // nil for the primary
	hello          bson.Raw
	home           *homeSession
	version        serverVersion // asked for once; zero before
}

// NewConn is a connection through a client.
func newConn(g *Gateway, client *mongo.Client) *Conn { return &Conn{gateway: g, client: client} }

// request is one command on its way to a server.
type request struct {
	on       *Conn
	database string
	body     any // bson.D or bson.Raw
	// session is the script's own; nil is the connection's.
	session *mongo.Session
	// reads says that sending it twice does no harm.
	reads bool
	// readPreference overrides the connection's.
	readPreference *readpref.ReadPref
}

// send runs a command and returns the reply. A reply of ok: 1 is no error,
// whatever write errors it lists. Errors are the driver's; the end of the
// script's context ends the script here.
func (s *Gateway) send(r request) (bson.Raw, error) {
	if reply, err := s.guard(r); reply != nil || err != nil {
		return reply, err
	}
	ctx := r.context(s.JS.Context())
	reply, err := r.db().RunCommand(ctx, r.body, r.options()).Raw()
	if s.mayRead(r, err) {
		reply, err = r.db().RunCommand(ctx, r.body, r.options()).Raw()
	}
	return s.answer(reply, err)
}

// answer sorts out what the driver returned for a command.
func (s *Gateway) answer(reply bson.Raw, err error) (bson.Raw, error) {
	if err == nil {
		return reply, nil
	}
	if s.JS.Context().Err() != nil {
		s.interrupt()
	}
	var write mongo.WriteException
	if errors.As(err, &write) {
		if write.Raw != nil {
			return write.Raw, nil
		}
		return reply, nil
	}
	return nil, err
}

// open runs a command that answers with a cursor.
func (s *Gateway) open(r request) (*mongo.Cursor, error) {
	reply, err := s.guard(r)
	if err != nil {
		return nil, err
	}
	if reply != nil {
		return mongo.NewCursorFromDocuments(nil, nil, nil)
	}
	ctx := r.context(s.JS.Context())
	c, err := r.db().RunCommandCursor(ctx, r.body, r.options())
	if s.mayRead(r, err) {
		c, err = r.db().RunCommandCursor(ctx, r.body, r.options())
	}
	if err != nil && s.JS.Context().Err() != nil {
		s.interrupt()
	}
	return c, err
}

func (s *Gateway) guard(r request) (bson.Raw, error) {
	if s.guards == nil {
		return nil, nil
	}
	body, ok := r.body.(bson.Raw)
	if !ok {
		var err error
		if body, err = bson.Marshal(r.body); err != nil {
			return nil, err
		}
	}
	return s.guards(r.database, body)
}

func (r request) db() *mongo.Database { return r.on.client.Database(r.database) }

func (r request) context(ctx context.Context) context.Context {
	sess := r.driverSession()
	r.on.gateway.sentIn(r.on, sess)
	if sess == nil {
		return ctx
	}
	return mongo.NewSessionContext(ctx, sess)
}

func (r request) driverSession() *mongo.Session {
	if r.session != nil {
		return r.session
	}
	if home := r.on.homeSession(); home != nil {
		return home.driver
	}
	return nil
}

func (r request) options() *options.RunCmdOptionsBuilder {
	pref := r.readPreference
	if pref == nil {
		pref = r.on.readPreference
	}
	if pref == nil || r.session != nil && r.session.TransactionRunning() { // whose own preference the driver takes
		pref = readpref.Primary()
	}
	return options.RunCmd().SetReadPreference(pref)
}

// must runs a command whose failure the script is to see.
func (s *Gateway) mustSend(r request) bson.Raw {
	reply, err := s.send(r)
	if err != nil {
		s.throwServer(err)
	}
	return reply
}

// findOne reads one document; nil when there is none.
func (d *Database) findOne(collection string, filter any, extra ...bson.E) bson.Raw {
	body := append(bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}}, extra...)
	reply := d.conn.gateway.mustSend(d.request(append(body, bson.E{Key: "limit", Value: int32(1)}), reads))
	first, err := firstBatch(reply).Values()
	if err != nil || len(first) == 0 {
		return nil
	}
	doc, _ := first[0].DocumentOK()
	return doc
}

// findAll reads all documents of a query.
func (d *Database) findAll(collection string, filter any, extra ...bson.E) []bson.Raw {
	return d.conn.gateway.all(d.request(append(bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}}, extra...), reads))
}

// aggregateAll reads all documents of a pipeline; the collection 1 stands for the
// database itself.
func (d *Database) aggregateAll(collection any, stages ...bson.D) []bson.Raw {
	docs, err := d.tryAggregate(collection, stages...)
	if err != nil {
		d.conn.gateway.throwServer(err)
	}
	return docs
}

func (d *Database) tryAggregate(collection any, stages ...bson.D) ([]bson.Raw, error) {
	pipeline := make(bson.A, len(stages))
	for i, st := range stages {
		pipeline[i] = st
	}
	return d.conn.gateway.tryAll(d.request(bson.D{
		{Key: "aggregate", Value: collection}, {Key: "pipeline", Value: pipeline}, {Key: "cursor", Value: bson.D{}},
	}, reads))
}

func (s *Gateway) all(r request) []bson.Raw {
	docs, err := s.tryAll(r)
	if err != nil {
		s.throwServer(err)
	}
	return docs
}

func (s *Gateway) tryAll(r request) ([]bson.Raw, error) {
	c, err := s.open(r)
	if err != nil {
		return nil, err
	}
	ctx := r.context(s.JS.Context())
	defer c.Close(ctx)
	docs := []bson.Raw{}
	for c.Next(ctx) {
		docs = append(docs, c.Current)
	}
	if err := c.Err(); err != nil {
		if s.JS.Context().Err() != nil {
			s.interrupt()
		}
		return nil, err
	}
	return docs, nil
}

func firstBatch(reply bson.Raw) bson.RawArray {
	batch, _ := reply.Lookup("cursor", "firstBatch").ArrayOK()
	return batch
}

// isMongos asks once for each connection.
func (m *Conn) isMongos() bool {
	msg, _ := m.helloReply().Lookup("msg").StringValueOK()
	return msg == "isdbgrid"
}

func (m *Conn) helloReply() bson.Raw {
	if m.hello == nil {
		reply, err := m.gateway.send(request{on: m, database: "admin", body: bson.D{{Key: "hello", Value: int32(1)}}, reads: true})
		if err != nil {
			return nil
		}
		m.hello = reply
	}
	return m.hello
}

func isNetworkError(err error) bool { return err != nil && mongo.IsNetworkError(err) }
