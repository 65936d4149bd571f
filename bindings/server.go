package bindings

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// request is one command on its way to a server.
type request struct {
	on       *mongoObject
	database string
	body     any // bson.D or bson.Raw
	// session is the script's own; nil is the connection's.
	session *session
	// reads says that sending it twice does no harm.
	reads bool
	// readPreference overrides the connection's.
	readPreference *readpref.ReadPref
}

// send runs a command and returns the reply. A reply of ok: 1 is no error,
// whatever write errors it lists. Errors are the driver's; the end of the
// script's context ends the script here.
func (s *Shell) send(r request) (bson.Raw, error) {
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
func (s *Shell) answer(reply bson.Raw, err error) (bson.Raw, error) {
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
func (s *Shell) open(r request) (*mongo.Cursor, error) {
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

func (s *Shell) guard(r request) (bson.Raw, error) {
	if s.cfg.Guard == nil {
		return nil, nil
	}
	body, ok := r.body.(bson.Raw)
	if !ok {
		var err error
		if body, err = bson.Marshal(r.body); err != nil {
			return nil, err
		}
	}
	return s.cfg.Guard(r.database, body)
}

func (r request) db() *mongo.Database { return r.on.client.Database(r.database) }

func (r request) context(ctx context.Context) context.Context {
	sess := r.driverSession()
	r.on.s.sentIn(r.on, sess)
	if sess == nil {
		return ctx
	}
	return mongo.NewSessionContext(ctx, sess)
}

func (r request) driverSession() *mongo.Session {
	if r.session != nil {
		return r.session.driver
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
	if pref == nil || r.session != nil && r.session.driver.TransactionRunning() { // whose own preference the driver takes
		pref = readpref.Primary()
	}
	return options.RunCmd().SetReadPreference(pref)
}

// must runs a command whose failure the script is to see.
func (s *Shell) mustSend(r request) bson.Raw {
	reply, err := s.send(r)
	if err != nil {
		s.throwServer(err)
	}
	return reply
}

// findOne reads one document; nil when there is none.
func (s *Shell) findOne(d *database, collection string, filter any, extra ...bson.E) bson.Raw {
	body := append(bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}}, extra...)
	reply := s.mustSend(d.request(append(body, bson.E{Key: "limit", Value: int32(1)}), reads))
	first, err := firstBatch(reply).Values()
	if err != nil || len(first) == 0 {
		return nil
	}
	doc, _ := first[0].DocumentOK()
	return doc
}

// findAll reads all documents of a query.
func (s *Shell) findAll(d *database, collection string, filter any, extra ...bson.E) []bson.Raw {
	return s.all(d.request(append(bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}}, extra...), reads))
}

// aggregateAll reads all documents of a pipeline; the collection 1 stands for the
// database itself.
func (s *Shell) aggregateAll(d *database, collection any, stages ...bson.D) []bson.Raw {
	docs, err := s.tryAggregate(d, collection, stages...)
	if err != nil {
		s.throwServer(err)
	}
	return docs
}

func (s *Shell) tryAggregate(d *database, collection any, stages ...bson.D) ([]bson.Raw, error) {
	pipeline := make(bson.A, len(stages))
	for i, st := range stages {
		pipeline[i] = st
	}
	return s.tryAll(d.request(bson.D{
		{Key: "aggregate", Value: collection}, {Key: "pipeline", Value: pipeline}, {Key: "cursor", Value: bson.D{}},
	}, reads))
}

func (s *Shell) all(r request) []bson.Raw {
	docs, err := s.tryAll(r)
	if err != nil {
		s.throwServer(err)
	}
	return docs
}

func (s *Shell) tryAll(r request) ([]bson.Raw, error) {
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
func (m *mongoObject) isMongos() bool {
	msg, _ := m.helloReply().Lookup("msg").StringValueOK()
	return msg == "isdbgrid"
}

func (m *mongoObject) helloReply() bson.Raw {
	if m.hello == nil {
		reply, err := m.s.send(request{on: m, database: "admin", body: bson.D{{Key: "hello", Value: int32(1)}}, reads: true})
		if err != nil {
			return nil
		}
		m.hello = reply
	}
	return m.hello
}

func isNetworkError(err error) bool { return err != nil && mongo.IsNetworkError(err) }
