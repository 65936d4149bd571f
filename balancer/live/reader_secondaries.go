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

// secondaryTimeout is how long a secondary may take for the first documents. One that is far
// behind delays the read by its lag (afterClusterTime).
const secondaryTimeout = 5 * time.Second

// largeCollections are the collections of config that grow with the cluster, and with time.
var largeCollections = []string{"actionlog", "changelog", "chunks", "collections", "databases", "tags"}

// secondaryReads sends the large reads of config to secondaries. Each read names the time of the
// cluster that others have seen (afterClusterTime), so that one that begins after the end of
// another never shows an older state, whichever member answers. The first time is that of
// the primary, if something was read there.
type secondaryReads struct {
	preference *readpref.ReadPref
	// userChosen: somebody chose the preference. Otherwise what secondaries don't answer in time
	// goes to the primary, and so do all later ones.
	userChosen bool

	mu          sync.Mutex
	clusterTime bson.Timestamp
	unavailable bool // secondaries did not answer
}

// newSecondaryReads returns where large collections are read: with the preference chosen by the user, or
// else from secondaries.
func newSecondaryReads(chosen *readpref.ReadPref) *secondaryReads {
	if chosen != nil {
		return &secondaryReads{preference: chosen, userChosen: true}
	}
	return &secondaryReads{preference: readpref.SecondaryPreferred()}
}

// shouldServe reports whether a query goes to secondaries.
func (m *secondaryReads) shouldServe(q query) bool {
	if m == nil || q.database != "" || !slices.Contains(largeCollections, q.collection) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.userChosen || !m.unavailable
}

// readConcern is the read concern of a query of config.
func (m *secondaryReads) readConcern() bson.E {
	m.mu.Lock()
	defer m.mu.Unlock()
	level := bson.D{{Key: "level", Value: "majority"}}
	if m.clusterTime != (bson.Timestamp{}) {
		level = append(level, bson.E{Key: "afterClusterTime", Value: m.clusterTime})
	}
	return bson.E{Key: "readConcern", Value: level}
}

// advanceClusterTime advances the known cluster time to the one of a reply.
func (m *secondaryReads) advanceClusterTime(at *bson.Timestamp) {
	if at == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if at.After(m.clusterTime) {
		m.clusterTime = *at
	}
}

// fallBackToPrimary records that secondaries did not answer a query, and reports whether the primary is
// to be asked for it.
func (m *secondaryReads) fallBackToPrimary(ctx context.Context, err error) bool {
	if m.userChosen || ctx.Err() != nil || mongoerr.Is(ServerError(err), mongoerr.Unauthorized) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unavailable = true
	return true
}

// configCursor is a cursor of config, and the session that knows the time of its answers.
type configCursor struct {
	*mongo.Cursor
	session     *mongo.Session
	secondaries *secondaryReads
}

// close notes the time of the last answer.
func (l configCursor) close(ctx context.Context) {
	if l.session != nil {
		l.secondaries.advanceClusterTime(l.session.OperationTime())
		l.session.EndSession(ctx)
	}
}

// open opens a cursor on config, on the members that are preferred.
func (m *secondaryReads) open(
	ctx context.Context, client *mongo.Client, command bson.D, prefer *readpref.ReadPref,
) (list configCursor, err error) {
	list.secondaries = m
	if list.session, err = client.StartSession(options.Session().SetCausalConsistency(false)); err != nil {
		return list, err
	}
	list.Cursor, err = client.Database("config").RunCommandCursor(mongo.NewSessionContext(ctx, list.session),
		append(slices.Clip(command), m.readConcern()), options.RunCmd().SetReadPreference(prefer))
	if err != nil {
		list.close(ctx)
	}
	return list, err
}
