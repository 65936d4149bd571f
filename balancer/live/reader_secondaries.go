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

// secondaryWait is how long a secondary may take for the first documents. One that is far
// behind takes as long as it is.
const secondaryWait = 5 * time.Second

// large are the collections of config that grow with the cluster, and with time.
var large = []string{"actionlog", "changelog", "chunks", "collections", "databases", "tags"}

// remote sends the large reads of config to secondaries. Each read names the time of the
// cluster that others have seen (afterClusterTime), so that one that begins after the end of
// another never shows an older state, whichever member answers. The first time is that of
// the primary, if something was read there.
type remote struct {
	prefer *readpref.ReadPref
	// fixed: somebody chose the preference. Otherwise what secondaries don't answer in time
	// is read from the primary, with all that follows.
	fixed bool

	mu   sync.Mutex
	seen bson.Timestamp
	away bool // secondaries did not answer
}

// remoteBy returns where a look reads what is large: by a preference that somebody chose, or
// else from secondaries.
func remoteBy(chosen *readpref.ReadPref) *remote {
	if chosen != nil {
		return &remote{prefer: chosen, fixed: true}
	}
	return &remote{prefer: readpref.SecondaryPreferred()}
}

// serves reports whether a query goes to secondaries.
func (m *remote) serves(q query) bool {
	if m == nil || q.database != "" || !slices.Contains(large, q.collection) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fixed || !m.away
}

// concern is the read concern of a query of config.
func (m *remote) concern() bson.E {
	m.mu.Lock()
	defer m.mu.Unlock()
	level := bson.D{{Key: "level", Value: "majority"}}
	if m.seen != (bson.Timestamp{}) {
		level = append(level, bson.E{Key: "afterClusterTime", Value: m.seen})
	}
	return bson.E{Key: "readConcern", Value: level}
}

// saw notes the time that the answers to a query had.
func (m *remote) saw(at *bson.Timestamp) {
	if at == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if at.After(m.seen) {
		m.seen = *at
	}
}

// gaveUp notes that secondaries did not answer a query, and reports whether the primary is
// to be asked for it.
func (m *remote) gaveUp(ctx context.Context, err error) bool {
	if m.fixed || ctx.Err() != nil || mongoerr.Is(ServerError(err), mongoerr.Unauthorized) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = true
	return true
}

// configCursor is a cursor of config, and the session that knows the time of its answers.
type configCursor struct {
	*mongo.Cursor
	session *mongo.Session
	remote  *remote
}

// end notes the time of the last answer.
func (l configCursor) end(ctx context.Context) {
	if l.session != nil {
		l.remote.saw(l.session.OperationTime())
		l.session.EndSession(ctx)
	}
}

// open opens a cursor on config, on the members that are preferred.
func (m *remote) open(
	ctx context.Context, client *mongo.Client, command bson.D, prefer *readpref.ReadPref,
) (list configCursor, err error) {
	list.remote = m
	if list.session, err = client.StartSession(options.Session().SetCausalConsistency(false)); err != nil {
		return list, err
	}
	list.Cursor, err = client.Database("config").RunCommandCursor(mongo.NewSessionContext(ctx, list.session),
		append(slices.Clip(command), m.concern()), options.RunCmd().SetReadPreference(prefer))
	if err != nil {
		list.end(ctx)
	}
	return list, err
}
