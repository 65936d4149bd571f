package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/mongoerr"
)

// secondaryTimeout is the maximum wait for the first documents from a secondary. A secondary that lags
// delays the read by its lag (afterClusterTime).
const secondaryTimeout = 5 * time.Second

// largeCollections are the collections of config that grow with the cluster or over time.
var largeCollections = []string{"actionlog", "changelog", "chunks", "collections", "databases", "tags"}

// secondaryReads sends the large reads of config to secondaries. Each read requires the cluster time
// that earlier reads have seen (afterClusterTime), so that a read that begins after the end of another
// read never returns an older state, whichever member answers. The first time is that of the primary,
// if something was read there.
type secondaryReads struct {
	preference *readpref.ReadPref
	// userChosen says that the user has chosen the read preference. Otherwise, a query that secondaries
	// do not answer in time is sent to the primary, and so are all later queries.
	userChosen bool

	mu          sync.Mutex
	clusterTime bson.Timestamp
	unavailable bool // secondaries did not answer
}

// newSecondaryReads returns the member selection for large collections: with the read preference chosen
// by the user, or else secondaries.
func newSecondaryReads(chosen *readpref.ReadPref) *secondaryReads {
	if chosen != nil {
		return &secondaryReads{preference: chosen, userChosen: true}
	}
	return &secondaryReads{preference: readpref.SecondaryPreferred()}
}

// shouldServe reports whether a query is sent to secondaries.
func (s *secondaryReads) shouldServe(q query) bool {
	if s == nil || q.database != "" || !slices.Contains(largeCollections, q.collection) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.userChosen || !s.unavailable
}

// readConcern returns the read concern for a query of config.
func (s *secondaryReads) readConcern() bson.E {
	s.mu.Lock()
	defer s.mu.Unlock()
	level := bson.D{{Key: "level", Value: "majority"}}
	if s.clusterTime != (bson.Timestamp{}) {
		level = append(level, bson.E{Key: "afterClusterTime", Value: s.clusterTime})
	}
	return bson.E{Key: "readConcern", Value: level}
}

// advanceClusterTime advances the known cluster time to that of a reply.
func (s *secondaryReads) advanceClusterTime(at *bson.Timestamp) {
	if at == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.After(s.clusterTime) {
		s.clusterTime = *at
	}
}

// fallBackToPrimary records that secondaries did not answer a query, and reports whether the query is
// to be sent to the primary.
func (s *secondaryReads) fallBackToPrimary(ctx context.Context, err error) bool {
	if s.userChosen || ctx.Err() != nil || mongoerr.Is(ServerError(err), mongoerr.Unauthorized) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unavailable = true
	return true
}

// configCursor is a cursor on config, with the session that has the cluster time of its replies.
type configCursor struct {
	*mongo.Cursor
	session     *mongo.Session
	secondaries *secondaryReads
}

// endSession records the cluster time of the last reply, and ends the session. The cursor is closed by those
// who read it.
func (c configCursor) endSession(ctx context.Context) {
	if c.session != nil {
		c.secondaries.advanceClusterTime(c.session.OperationTime())
		c.session.EndSession(ctx)
	}
}

// open opens a cursor on config, on the preferred members.
func (s *secondaryReads) open(
	ctx context.Context, client *mongo.Client, command bson.D, prefer *readpref.ReadPref,
) (list configCursor, err error) {
	list.secondaries = s
	if list.session, err = client.StartSession(options.Session().SetCausalConsistency(false)); err != nil {
		return list, err
	}
	list.Cursor, err = client.Database("config").RunCommandCursor(mongo.NewSessionContext(ctx, list.session),
		append(slices.Clip(command), s.readConcern()), options.RunCmd().SetReadPreference(prefer))
	if err != nil {
		list.endSession(ctx)
	}
	return list, err
}
