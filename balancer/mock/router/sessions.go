package router

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

func sessionHandlers() map[string]handler {
	return map[string]handler{
		"startSession":      startSession,
		"endSessions":       endSessions,
		"refreshSessions":   refreshSessions,
		"killSessions":      killSessions,
		"killAllSessions":   killAllSessions,
		"commitTransaction": noTransaction,
		"abortTransaction":  noTransaction,
	}
}

const (
	// sessionLife is how long a session lives that nobody uses, in real time:
	// logicalSessionTimeoutMinutes of hello.
	sessionLife = 30 * time.Minute
	// maxSessions is the default of the server parameter of that name.
	maxSessions = 1_000_000
)

// sessionID is an lsid: what the client chose, and whose it is.
type sessionID struct {
	id   [16]byte
	user [sha256.Size]byte
}

func (s sessionID) doc() bson.D {
	return bson.D{
		{Key: "id", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: s.id[:]}},
		{Key: "uid", Value: bson.Binary{Data: s.user[:]}},
	}
}

// session is what the router remembers of a client's session.
type session struct {
	used time.Time
	user string // "name@db", empty without authentication
	// writes is the newest retryable write; nil before the first.
	writes *retryableWrite
}

// sessions are the sessions in use. Unlike the rest of the router they have a
// lock of their own, as clients end them without the cluster's.
type sessions struct {
	mu   sync.Mutex
	open map[sessionID]*session
	// out are those whose retryable write is under way; each channel closes when it
	// ends.
	out map[sessionID]chan struct{}
	// over are sessions that have ended and had a retryable write.
	over []sessionID
}

// checkOut waits until nobody else has a session, and takes it.
func (s *sessions) checkOut(ctx context.Context, id sessionID) (release func(), err error) {
	for {
		held, release := s.tryOut(id)
		if release != nil {
			return release, nil
		}
		select {
		case <-held:
		case <-ctx.Done():
			return nil, mongoerr.New(mongoerr.Interrupted, "operation was interrupted: %s", context.Cause(ctx))
		}
	}
}

func (s *sessions) tryOut(id sessionID) (held <-chan struct{}, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.out[id]; held != nil {
		return held, nil
	}
	if s.out == nil {
		s.out = map[sessionID]chan struct{}{}
	}
	over := make(chan struct{})
	s.out[id] = over
	return nil, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.out, id)
		close(over)
	}
}

// use notes that a session is in use and makes it where it is new.
func (s *sessions) use(id sessionID, user string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	known := s.open[id]
	if known == nil {
		if err := s.makeRoom(now); err != nil {
			return nil, err
		}
		known = &session{user: user}
		s.open[id] = known
	}
	known.used = now
	return known, nil
}

// makeRoom forgets the sessions that have timed out, each time their number
// has doubled.
func (s *sessions) makeRoom(now time.Time) error {
	if s.open == nil {
		s.open = map[sessionID]*session{}
	}
	if n := len(s.open); n >= 1024 && n&(n-1) == 0 || n >= maxSessions {
		for id, open := range s.open {
			if now.Sub(open.used) > sessionLife {
				s.forget(id)
			}
		}
	}
	if len(s.open) >= maxSessions {
		return mongoerr.New(mongoerr.TooManyLogicalSessions,
			"Unable to add session into the cache because the number of active sessions is too high")
	}
	return nil
}

func (s *sessions) end(ids []sessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.forget(id)
	}
}

// forget ends a session. The caller holds the lock.
func (s *sessions) forget(id sessionID) {
	if open := s.open[id]; open != nil && open.writes != nil {
		s.over = append(s.over, id)
	}
	delete(s.open, id)
}

// takeOver returns the sessions with retryable writes that have ended since it
// was called last, but for those that have begun anew.
func (s *sessions) takeOver() []sessionID {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := slices.DeleteFunc(s.over, func(id sessionID) bool { return s.open[id] != nil })
	s.over = nil
	return over
}

// list returns the sessions that are alive, in the order of their ids.
func (s *sessions) list() []bson.Raw {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(s.open), func(a, b sessionID) int {
		return cmp.Or(slices.Compare(a.id[:], b.id[:]), slices.Compare(a.user[:], b.user[:]))
	})
	now := time.Now()
	var docs []bson.Raw
	for _, id := range ids {
		open := s.open[id]
		if now.Sub(open.used) > sessionLife {
			continue
		}
		doc := bson.D{{Key: "_id", Value: id.doc()}, {Key: "lastUse", Value: bson.NewDateTimeFromTime(open.used)}}
		if open.user != "" {
			doc = append(doc, bson.E{Key: "user", Value: bson.D{{Key: "name", Value: open.user}}})
		}
		raw, err := bson.Marshal(doc)
		if err != nil {
			continue // ids, times and names always encode
		}
		docs = append(docs, raw)
	}
	return docs
}

// readSessionID reads an lsid. where names it in errors.
func (c *call) readSessionID(where string, v bson.RawValue) (*sessionID, error) {
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s' is the wrong type '%s', expected type 'object'",
			where, args.TypeName(v.Type))
	}
	elems, err := doc.Elements()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, e := range elems {
		if name := e.Key(); name != "id" && name != "uid" {
			return nil, mongoerr.New(mongoerr.IDLUnknownField, "BSON field '%s.%s' is an unknown field.", where, name)
		}
	}
	id := doc.Lookup("id")
	subtype, data, isBinary := id.BinaryOK()
	switch {
	case id.IsZero():
		return nil, mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '%s.id' is missing but a required field", where)
	case !isBinary:
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '%s.id' is the wrong type '%s', expected type 'binData'", where, args.TypeName(id.Type))
	case subtype != bson.TypeBinaryUUID:
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '%s.id' is the wrong binData type '%d', expected type 'UUID'", where, subtype)
	case len(data) != 16:
		return nil, mongoerr.New(mongoerr.InvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype")
	}
	s := &sessionID{id: [16]byte(data), user: c.peer.digest()}
	if _, uid, ok := doc.Lookup("uid").BinaryOK(); ok && len(uid) == len(s.user) {
		if [sha256.Size]byte(uid) != s.user {
			return nil, mongoerr.New(mongoerr.Unauthorized, "Unauthorized to set user digest in LogicalSessionId")
		}
	}
	return s, nil
}

// readSessionIDs reads the array that is the command's value.
func (c *call) readSessionIDs() ([]sessionID, error) {
	v, has := c.args[c.invoked]
	if !has {
		return nil, nil
	}
	docs, err := args.Documents(v)
	if err != nil {
		return nil, err
	}
	var ids []sessionID
	for _, doc := range docs {
		id, err := c.readSessionID("KillSessionsCmd."+c.invoked, embedded(doc))
		if err != nil {
			return nil, err
		}
		ids = append(ids, *id)
	}
	return ids, nil
}

func embedded(doc bson.Raw) bson.RawValue {
	return bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc}
}

func startSession(c *call) (bson.D, error) {
	id := c.cluster.NewUUID()
	if _, err := c.node.sessions.use(sessionID{id: [16]byte(id.Data), user: c.peer.digest()}, c.peer.name()); err != nil {
		return nil, err
	}
	return bson.D{
		{Key: "id", Value: bson.D{{Key: "id", Value: id}}},
		{Key: "timeoutMinutes", Value: int32(sessionLife / time.Minute)},
	}, nil
}

// name returns the user of a connection as name@db; empty without one.
func (p *peer) name() string {
	if p.user == nil {
		return ""
	}
	return p.user.Name + "@" + p.user.Database
}

// endSessions forgets sessions. Their cursors go when nobody reads them.
func endSessions(c *call) (bson.D, error) {
	ids, err := c.readSessionIDs()
	if err != nil {
		return nil, err
	}
	c.node.sessions.end(ids)
	return bson.D{}, nil
}

func refreshSessions(c *call) (bson.D, error) {
	ids, err := c.readSessionIDs()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, err := c.node.sessions.use(id, c.peer.name()); err != nil {
			return nil, err
		}
	}
	return bson.D{}, nil
}

// killSessions ends sessions, what runs in them and their cursors; without ids,
// those of the connection's user.
func killSessions(c *call) (bson.D, error) {
	ids, err := c.readSessionIDs()
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		mine := c.peer.digest()
		killWhere(c, func(id sessionID) bool { return id.user == mine })
		return bson.D{}, nil
	}
	killWhere(c, func(id sessionID) bool { return slices.Contains(ids, id) })
	return bson.D{}, nil
}

// killAllSessions takes users; none means everybody's sessions.
func killAllSessions(c *call) (bson.D, error) {
	docs, err := args.Documents(c.body.Lookup(c.invoked))
	if err != nil {
		return nil, err
	}
	var whose [][sha256.Size]byte
	for _, doc := range docs {
		user, db := args.Text(doc.Lookup("user")), args.Text(doc.Lookup("db"))
		if user == "" || db == "" {
			return nil, mongoerr.New(mongoerr.IDLFailedToParse,
				"BSON field 'KillAllSessionsCmd.killAllSessions' takes documents {user, db}")
		}
		whose = append(whose, sha256.Sum256([]byte(user+"@"+db)))
	}
	killWhere(c, func(id sessionID) bool { return len(whose) == 0 || slices.Contains(whose, id.user) })
	return bson.D{}, nil
}

func killWhere(c *call, of func(sessionID) bool) {
	c.node.sessions.mu.Lock()
	maps.DeleteFunc(c.node.sessions.open, func(id sessionID, _ *session) bool { return of(id) })
	c.node.sessions.mu.Unlock()
	// What runs holds the cluster's lock and gives it back soon after.
	c.node.operations.killWhere(of)
	c.cluster.Lock()
	defer c.cluster.Unlock()
	c.node.cursors.killWhere(of)
}

// sessionsStage is $listSessions and $listLocalSessions: the mock's only
// router knows all sessions, and none waits to be written to config.
func sessionsStage(c *call, _ string, spec bson.RawValue) ([]bson.Raw, error) {
	options, isDoc := spec.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"$listSessions options must be specified in an object, but found: %s", args.TypeName(spec.Type))
	}
	all, mine := c.node.sessions.list(), c.peer.digest()
	if args.Truth(options.Lookup("allUsers")) {
		return all, nil
	}
	return slices.DeleteFunc(all, func(doc bson.Raw) bool {
		_, uid, _ := doc.Lookup("_id", "uid").BinaryOK()
		return !slices.Equal(uid, mine[:])
	}), nil
}

func noTransaction(*call) (bson.D, error) {
	return nil, mongoerr.New(mongoerr.NoSuchTransaction, "Transaction isn't in progress")
}
