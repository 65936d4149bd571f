package live

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// source sends the commands of a Reader.
type source interface {
	// run returns the reply to a command that changes nothing.
	run(ctx context.Context, database string, command bson.D) (bson.Raw, error)
	// list returns all documents of a query.
	list(ctx context.Context, q query) ([]bson.Raw, error)
	// each calls use with each document of a query. The document is valid until use returns.
	each(ctx context.Context, q query, use func(bson.Raw) error) error
}

// query is a find or an aggregate command.
type query struct {
	database   string // empty means config
	collection string // of an aggregate: empty means the database itself
	pipeline   []bson.D
	// The fields below are for a find, which has no pipeline.
	filter           bson.D
	sort             bson.D
	limit            int32
	batchSize        int32
	hint, projection any
	lower, upper     any           // bounds in the index of hint
	maxTime          time.Duration // server time limit for the first batch; zero means configTimeout
}

// findQuery returns a query for documents of config.
func findQuery(collection string, filter bson.D) query {
	return query{collection: collection, filter: filter}
}

// sortedBy returns the query sorted by one field.
func (q query) sortedBy(field string, direction int32) query {
	q.sort = append(q.sort[:len(q.sort):len(q.sort)], bson.E{Key: field, Value: direction})
	return q
}

// withBatchSize returns the query with a batch size.
func (q query) withBatchSize(n int32) query {
	q.batchSize = n
	return q
}

// withLimit returns the query with a limit.
func (q query) withLimit(n int32) query {
	q.limit = n
	return q
}

// clientSource reads from primaries, and reads config with read concern majority. It reads large
// collections of config through secondaries if that is not nil.
type clientSource struct {
	client      *mongo.Client
	secondaries *secondaryReads
}

func (s clientSource) run(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	return NewCommandRunner(s.client).RunCommand(ctx, database, command)
}

func (s clientSource) list(ctx context.Context, q query) ([]bson.Raw, error) {
	return retryRead(ctx, func() (docs []bson.Raw, err error) {
		err = s.each(ctx, q, func(doc bson.Raw) error {
			docs = append(docs, slices.Clone(doc))
			return nil
		})
		return docs, err
	})
}

func (s clientSource) each(ctx context.Context, q query, use func(bson.Raw) error) error {
	cursor, err := s.open(ctx, q)
	if err != nil {
		return err
	}
	defer cursor.endSession(ctx)
	return eachInCursor(ctx, cursor.Cursor, use)
}

func (s clientSource) open(ctx context.Context, q query) (configCursor, error) {
	most := cmp.Or(q.maxTime, configTimeout)
	if s.secondaries.shouldServe(q) {
		wait := min(most, secondaryTimeout)
		if s.secondaries.userChosen {
			wait = most
		}
		list, err := s.openAt(ctx, q, s.secondaries.preference, wait)
		if err == nil || !s.secondaries.fallBackToPrimary(ctx, err) {
			return list, err
		}
	}
	return s.openAt(ctx, q, readpref.Primary(), most)
}

// openAt opens a cursor on the preferred members.
func (s clientSource) openAt(
	ctx context.Context, q query, prefer *readpref.ReadPref, most time.Duration,
) (configCursor, error) {
	// For a command, in contrast to a find, the driver converts the remaining time into maxTimeMS. The
	// cursor itself has no time limit.
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	var list configCursor
	var err error
	switch command := q.command(); {
	case q.database != "":
		list.Cursor, err = s.client.Database(q.database).RunCommandCursor(ctx, command)
	case s.secondaries == nil:
		list.Cursor, err = s.client.Database("config").RunCommandCursor(ctx, append(command, ReadConcernMajority))
	default:
		list, err = s.secondaries.open(ctx, s.client, command, prefer)
	}
	if err == nil && q.batchSize > 0 {
		list.SetBatchSize(q.batchSize)
	}
	return list, err
}

// commandSource sends all queries through a CommandRunner.
type commandSource struct{ commands CommandRunner }

func (s commandSource) run(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	return s.commands.RunCommand(ctx, database, command)
}

func (s commandSource) list(ctx context.Context, q query) ([]bson.Raw, error) {
	database := q.database
	if database == "" {
		database = "config"
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(q.maxTime, configTimeout))
	defer cancel()
	return s.commands.RunCursorCommand(ctx, database, q.command())
}

func (s commandSource) each(ctx context.Context, q query, use func(bson.Raw) error) error {
	docs, err := s.list(ctx, q)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if err := use(doc); err != nil {
			return err
		}
	}
	return nil
}

func (q query) command() bson.D {
	if q.pipeline != nil {
		stages := make(bson.A, len(q.pipeline))
		for i, stage := range q.pipeline {
			stages[i] = stage
		}
		var of any = q.collection
		if q.collection == "" {
			of = int32(1)
		}
		return bson.D{{Key: "aggregate", Value: of}, {Key: "pipeline", Value: stages}, {Key: "cursor", Value: bson.D{}}}
	}
	command := bson.D{{Key: "find", Value: q.collection}, {Key: "filter", Value: q.filter}}
	add := func(field string, value any, given bool) {
		if given {
			command = append(command, bson.E{Key: field, Value: value})
		}
	}
	add("sort", q.sort, q.sort != nil)
	add("limit", q.limit, q.limit > 0)
	add("batchSize", q.batchSize, q.batchSize > 0)
	add("hint", q.hint, q.hint != nil)
	add("projection", q.projection, q.projection != nil)
	add("min", q.lower, q.lower != nil)
	add("max", q.upper, q.upper != nil)
	return command
}

// closeTimeout is the maximum wait for a server to close a cursor after a read. shortCloseTimeout is
// the maximum after a read without an answer in time.
const (
	closeTimeout      = 2 * time.Second
	shortCloseTimeout = 200 * time.Millisecond
)

// CloseCursor closes a cursor after a read, even after the end of ctx. It does not wait for a server
// that does not answer.
func CloseCursor(ctx context.Context, cursor *mongo.Cursor) error {
	within := closeTimeout
	// The driver's reads may end slightly earlier than their context.
	if ctx.Err() != nil || mongo.IsTimeout(cursor.Err()) {
		within = shortCloseTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	return cursor.Close(ctx)
}

// eachInCursor calls use with each document of a cursor, and closes the cursor. The document is valid
// until use returns.
func eachInCursor(ctx context.Context, cursor *mongo.Cursor, use func(bson.Raw) error) (err error) {
	defer func() {
		if closed := CloseCursor(ctx, cursor); err == nil {
			err = closed
		}
	}()
	for cursor.Next(ctx) {
		if err := use(cursor.Current); err != nil {
			return err
		}
	}
	return cursor.Err()
}
