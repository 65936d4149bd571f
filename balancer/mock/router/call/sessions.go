package call

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

// Outcome is the result of one write statement.
type Outcome struct {
	Matched, Modified int
	Upserted          bson.RawValue
	Removed           bool
	// Reply is the complete reply of a findAndModify.
	Reply bson.D
	// CollectionRewriteCount is the number of times that the collection had been rewritten by a
	// resharding or a move before the write.
	CollectionRewriteCount int
}

// Changed reports whether a statement changed data. Only such statements are remembered; others can
// safely run again.
func (o *Outcome) Changed() bool {
	return o.Modified > 0 || o.Removed || !o.Upserted.IsZero()
}

// RetryableWrite is a session's newest retryable write. The client may send it again if the reply was
// lost.
type RetryableWrite struct {
	Number int64
	// Outcomes holds the outcome of each statement by statement id.
	Outcomes map[int32]*Outcome
	// Unsaved reports whether outcomes have not been stored yet.
	Unsaved bool
}

const (
	// SessionTimeout is the real time after which an unused session expires:
	// logicalSessionTimeoutMinutes of hello.
	SessionTimeout = 30 * time.Minute
	// MaxSessions is the default of the server parameter maxSessions.
	MaxSessions = 1_000_000
)

// SessionID is an lsid: the id that the client chose and the digest of its user.
type SessionID struct {
	ID   [16]byte
	User [sha256.Size]byte
}

// Doc returns the id in the format of commands and replies.
func (s SessionID) Doc() bson.D {
	return bson.D{
		{Key: "id", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: s.ID[:]}},
		{Key: "uid", Value: bson.Binary{Data: s.User[:]}},
	}
}

// Session is the router's state of a client session.
type Session struct {
	used time.Time
	user string // "name@db", empty without authentication
	// LastWrite is the newest retryable write; nil before the first.
	LastWrite *RetryableWrite
}

// Sessions are the sessions in use. They have their own lock, because clients end sessions without the
// cluster's lock.
type Sessions struct {
	Mu   sync.Mutex
	Open map[SessionID]*Session
	// checkedOut are the sessions with a retryable write in progress. The channel closes when the write
	// ends.
	checkedOut map[SessionID]chan struct{}
	// ended are the sessions that have ended and had a retryable write.
	ended []SessionID
}

// CheckOut waits until no other command has checked out the session, and checks it out.
func (s *Sessions) CheckOut(ctx context.Context, id SessionID) (release func(), err error) {
	for {
		held, release := s.tryCheckOut(id)
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

func (s *Sessions) tryCheckOut(id SessionID) (held <-chan struct{}, release func()) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if held := s.checkedOut[id]; held != nil {
		return held, nil
	}
	if s.checkedOut == nil {
		s.checkedOut = map[SessionID]chan struct{}{}
	}
	over := make(chan struct{})
	s.checkedOut[id] = over
	return nil, func() {
		s.Mu.Lock()
		defer s.Mu.Unlock()
		delete(s.checkedOut, id)
		close(over)
	}
}

// Use marks a session as used, and creates it if it is new.
func (s *Sessions) Use(id SessionID, user string) (*Session, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	now := time.Now()
	known := s.Open[id]
	if known == nil {
		if err := s.evictTimedOut(now); err != nil {
			return nil, err
		}
		known = &Session{user: user}
		s.Open[id] = known
	}
	known.used = now
	return known, nil
}

// evictTimedOut removes expired sessions each time the number of sessions has doubled.
func (s *Sessions) evictTimedOut(now time.Time) error {
	if s.Open == nil {
		s.Open = map[SessionID]*Session{}
	}
	if n := len(s.Open); n >= 1024 && n&(n-1) == 0 || n >= MaxSessions {
		for id, open := range s.Open {
			if now.Sub(open.used) > SessionTimeout {
				s.forget(id)
			}
		}
	}
	if len(s.Open) >= MaxSessions {
		return mongoerr.New(mongoerr.TooManyLogicalSessions,
			"Unable to add session into the cache because the number of active sessions is too high")
	}
	return nil
}

// End removes sessions.
func (s *Sessions) End(ids []SessionID) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, id := range ids {
		s.forget(id)
	}
}

// EndWhere removes the selected sessions.
func (s *Sessions) EndWhere(isSelected func(SessionID) bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for id := range s.Open {
		if isSelected(id) {
			s.forget(id)
		}
	}
}

// forget removes a session. The caller holds the lock.
func (s *Sessions) forget(id SessionID) {
	if open := s.Open[id]; open != nil && open.LastWrite != nil {
		s.ended = append(s.ended, id)
	}
	delete(s.Open, id)
}

// takeEnded returns the sessions with retryable writes that have ended since the last call and were not
// used again.
func (s *Sessions) takeEnded() []SessionID {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	over := slices.DeleteFunc(s.ended, func(id SessionID) bool { return s.Open[id] != nil })
	s.ended = nil
	return over
}

// List returns the active sessions sorted by id.
func (s *Sessions) List() []bson.Raw {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(s.Open), func(a, b SessionID) int {
		return cmp.Or(slices.Compare(a.ID[:], b.ID[:]), slices.Compare(a.User[:], b.User[:]))
	})
	now := time.Now()
	var docs []bson.Raw
	for _, id := range ids {
		open := s.Open[id]
		if now.Sub(open.used) > SessionTimeout {
			continue
		}
		doc := bson.D{{Key: "_id", Value: id.Doc()}, {Key: "lastUse", Value: bson.NewDateTimeFromTime(open.used)}}
		if open.user != "" {
			doc = append(doc, bson.E{Key: "user", Value: bson.D{{Key: "name", Value: open.user}}})
		}
		raw, err := bson.Marshal(doc)
		if err != nil {
			continue // cannot happen: ids, times and names always encode
		}
		docs = append(docs, raw)
	}
	return docs
}

// ReadSessionID reads an lsid. where is its name in error messages.
func (c *Call) ReadSessionID(where string, v bson.RawValue) (*SessionID, error) {
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
	s := &SessionID{ID: [16]byte(data), User: c.Conn.UserDigest()}
	if _, uid, ok := doc.Lookup("uid").BinaryOK(); ok && len(uid) == len(s.User) {
		if [sha256.Size]byte(uid) != s.User {
			return nil, mongoerr.New(mongoerr.Unauthorized, "Unauthorized to set user digest in LogicalSessionId")
		}
	}
	return s, nil
}

// ForgetWrites forgets all retryable writes, because the cluster's state was replaced.
func (s *Sessions) ForgetWrites() {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, open := range s.Open {
		open.LastWrite = nil
	}
}
