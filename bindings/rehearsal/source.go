package rehearsal

import (
	"context"
	"errors"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/wire"
)

// source is the real cluster, which is only read.
type source struct {
	client *mongo.Client
	name   string
	// hasSessions says that the server supports sessions.
	hasSessions bool

	mu      sync.Mutex
	cursors map[int64]*mongo.Session // open cursors, with their sessions
}

func (s *source) snapshot(ctx context.Context) (*catalog.Snapshot, error) {
	return live.NewReader(s.client, live.ReaderOptions{
		Source: catalog.Source{Kind: catalog.SourceLive, Name: s.name},
	}).Read(ctx)
}

func (s *source) runAdminCommand(ctx context.Context, command string) (bson.Raw, error) {
	reply, err := s.client.Database("admin").RunCommand(ctx, bson.D{{Key: command, Value: 1}}).Raw()
	return errorAsReply(reply, err)
}

func (s *source) ownsCursor(cursor int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, open := s.cursors[cursor]
	return open
}

// forward sends a command that changes nothing. A cursor belongs to its session, so each command gets
// its own session, which lasts as long as its cursor.
func (s *source) forward(ctx context.Context, req wire.Request) (bson.Raw, error) {
	body := withoutDriverFields(req.Body)
	id, more := body.Lookup("getMore").AsInt64OK()
	session := s.sessionOf(id)
	if session == nil && s.hasSessions {
		var err error
		if session, err = s.client.StartSession(options.Session().SetCausalConsistency(false)); err != nil {
			return nil, err
		}
	}
	if session != nil {
		ctx = mongo.NewSessionContext(ctx, session)
	}
	member := options.RunCmd().SetReadPreference(readPreferenceOf(req.Body))
	reply, err := s.client.Database(req.Database).RunCommand(ctx, body, member).Raw()
	reply, err = errorAsReply(reply, err)
	open, _ := reply.Lookup("cursor", "id").AsInt64OK()
	s.trackCursor(ctx, id, open, more, session)
	return reply, err
}

func (s *source) sessionOf(cursor int64) *mongo.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cursors[cursor]
}

// trackCursor records which cursor is open after a command.
func (s *source) trackCursor(ctx context.Context, was, open int64, more bool, session *mongo.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if more && open == 0 {
		delete(s.cursors, was)
	}
	switch {
	case open != 0:
		s.cursors[open] = session
	case session != nil:
		session.EndSession(context.WithoutCancel(ctx))
	}
}

// forgetCursor ends the session of a cursor that was closed early.
func (s *source) forgetCursor(ctx context.Context, cursor int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.cursors[cursor]; session != nil {
		session.EndSession(context.WithoutCancel(ctx))
	}
	delete(s.cursors, cursor)
}

// errorAsReply returns the server's reply, or the reply in the server's error.
func errorAsReply(reply bson.Raw, err error) (bson.Raw, error) {
	if refused, ok := errors.AsType[mongo.CommandError](err); ok && refused.Raw != nil {
		reply, err = refused.Raw, nil
	}
	if err != nil {
		return nil, err
	}
	return editFields(reply, func(e bson.RawElement) (any, bool) {
		return e.Value(), e.Key() != "$clusterTime" && e.Key() != "operationTime"
	}), nil
}

// withoutDriverFields returns a command without the fields of the driver, and so without those of
// transactions, which a rehearsal does not support.
func withoutDriverFields(body bson.Raw) bson.Raw {
	return editFields(body, func(e bson.RawElement) (any, bool) {
		if e.Key() != "readConcern" {
			return e.Value(), !args.IsDriverField(e.Key())
		}
		level := e.Value().Document().Lookup("level") // afterClusterTime refers to another clock
		return bson.D{{Key: "level", Value: level}}, !level.IsZero()
	})
}

// readPreferenceOf returns a command's read preference; tags are ignored.
func readPreferenceOf(body bson.Raw) *readpref.ReadPref {
	name, _ := body.Lookup("$readPreference", "mode").StringValueOK()
	mode, err := readpref.ModeFromString(name)
	if err != nil {
		return readpref.Primary()
	}
	p, err := readpref.New(mode)
	if err != nil {
		return readpref.Primary()
	}
	return p
}
