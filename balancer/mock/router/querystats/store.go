package querystats

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Query is an answered query.
type Query struct {
	Database, Command string
	Body              bson.Raw
	Client            bson.Raw // client metadata of the handshake; nil if there was none
	Returned          int64    // documents or values so far
	Took              time.Duration
	Cursor            int64 // 0 if the cursor is exhausted
}

// Limits of the store. Longer requests are not recorded. If there are too many entries, the most
// recently used ones are kept.
const (
	maxEntries      = 1000
	maxOpenCursors  = 1000
	maxRequestBytes = 16 << 10
)

// Store stores the query statistics of a router. The cluster's lock guards it. The zero value is empty.
type Store struct {
	entries         map[string]*entry
	pendingByCursor map[int64]pending // queries with open cursors, by cursor id
	seen            int64             // number of queries subject to Rate
	currentSecond   time.Time         // the second in which queriesInSecond counts
	queriesInSecond int64
}

type pending struct {
	entry                    *entry
	returned                 int64
	firstMicros, totalMicros int64
}

// entry is the statistics of one key.
type entry struct {
	example                          Query // the first query of this shape
	first, latest                    time.Time
	executions, lastMicros           int64
	totalMicros, firstResponseMicros summary
	workingMillis, docs, uncounted   summary
}

// summary is the server's summary of a numeric metric.
type summary struct {
	sum, max, min int64
	squares       big.Int
	hasValues     bool
}

func (s *summary) add(n int64) {
	s.sum += n
	if s.max = max(s.max, n); !s.hasValues || n < s.min {
		s.min = n
	}
	s.hasValues = true
	s.squares.Add(&s.squares, new(big.Int).Mul(big.NewInt(n), big.NewInt(n)))
}

func (s *summary) doc() bson.D {
	squares, ok := bson.ParseDecimal128FromBigInt(&s.squares, 0)
	if !ok {
		squares = bson.NewDecimal128(0, 0)
	}
	return bson.D{{Key: "sum", Value: s.sum}, {Key: "max", Value: s.max}, {Key: "min", Value: s.min},
		{Key: "sumOfSquares", Value: squares}}
}

// Rate is the sampling rate.
type Rate struct {
	// PerSecond is the maximum number of recorded queries per second: 0 for none, negative for no limit.
	PerSecond int64
	// Share is the recorded share of the queries, used if PerSecond is 0.
	Share float64
}

// IsOff reports whether no queries are recorded.
func (r Rate) IsOff() bool { return r.PerSecond == 0 && r.Share <= 0 }

// shouldRecord reports whether the rate selects the next query. A Share of 0.1 selects each tenth query.
func (s *Store) shouldRecord(r Rate, now time.Time) bool {
	switch {
	case r.PerSecond < 0:
		return true
	case r.PerSecond > 0:
		if now.Sub(s.currentSecond) >= time.Second {
			s.currentSecond, s.queriesInSecond = now, 0
		}
		s.queriesInSecond++
		return s.queriesInSecond <= r.PerSecond
	}
	s.seen++
	return int64(float64(s.seen)*r.Share) > int64(float64(s.seen-1)*r.Share)
}

// Record records a query if the sampling rate selects it.
func (s *Store) Record(q Query, r Rate, now time.Time) {
	if r.IsOff() || len(q.Body) > maxRequestBytes || !s.shouldRecord(r, now) {
		return
	}
	key := q.key(sameName)
	if key == nil {
		return
	}
	id := string(encode(key))
	if s.entries == nil {
		s.entries, s.pendingByCursor = map[string]*entry{}, map[int64]pending{}
	}
	e := s.entries[id]
	if e == nil {
		if len(s.entries) >= maxEntries {
			s.evictOldest()
		}
		q.Body, q.Client = slices.Clone(q.Body), slices.Clone(q.Client)
		e = &entry{example: q, first: now, latest: now}
		s.entries[id] = e
	}
	micros := q.Took.Microseconds()
	s.continueOrFinish(q.Cursor, pending{e, q.Returned, micros, micros}, now)
}

// AddBatch adds the results of a further batch. queryCursor is the query's cursor id; nextCursor the one after
// the batch, 0 at the end.
func (s *Store) AddBatch(queryCursor, nextCursor, returned int64, took time.Duration, now time.Time) {
	p, known := s.pendingByCursor[queryCursor]
	if !known {
		return
	}
	delete(s.pendingByCursor, queryCursor)
	p.returned, p.totalMicros = p.returned+returned, p.totalMicros+took.Microseconds()
	s.continueOrFinish(nextCursor, p, now)
}

// EndCursors records the queries of closed cursors.
func (s *Store) EndCursors(cursors []int64, now time.Time) {
	for _, id := range cursors {
		s.AddBatch(id, 0, 0, 0, now)
	}
}

// continueOrFinish keeps the query of an open cursor pending, or records a finished query.
func (s *Store) continueOrFinish(cursor int64, p pending, now time.Time) {
	if cursor != 0 && len(s.pendingByCursor) < maxOpenCursors {
		s.pendingByCursor[cursor] = p
		return
	}
	e := p.entry
	e.latest, e.lastMicros = now, p.totalMicros
	e.executions++
	e.totalMicros.add(p.totalMicros)
	e.firstResponseMicros.add(p.firstMicros)
	e.workingMillis.add(p.totalMicros / 1000)
	e.docs.add(p.returned)
	e.uncounted.add(0)
}

func (s *Store) evictOldest() {
	oldest := ""
	for id, e := range s.entries {
		if oldest == "" || e.latest.Before(s.entries[oldest].latest) {
			oldest = id
		}
	}
	delete(s.entries, oldest)
}

// Documents returns the entries, the oldest first. grouped selects the format of 9.0.
func (s *Store) Documents(now time.Time, rename RenameFunc, grouped bool) (docs []bson.D) {
	ids := slices.SortedFunc(maps.Keys(s.entries), func(a, b string) int {
		if order := s.entries[a].first.Compare(s.entries[b].first); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	if rename == nil {
		rename = sameName
	}
	for _, id := range ids {
		e := s.entries[id]
		if e.executions == 0 {
			continue // its cursor is open
		}
		hash := sha256.Sum256([]byte(id))

		docs = append(docs, bson.D{
			{Key: "key", Value: e.example.key(rename)},
			{Key: "keyHash", Value: base64.StdEncoding.EncodeToString(hash[:])},
			{Key: "queryShapeHash", Value: ShapeHash(e.example.Database, e.example.Command, e.example.Body)},
			{Key: "metrics", Value: e.metrics(grouped)},
			{Key: "asOf", Value: bson.NewDateTimeFromTime(now)},
		})
	}
	return docs
}

// ShapeHash returns the queryShapeHash of a command. Queries that differ only in values have equal hashes.
func ShapeHash(db, command string, body bson.Raw) string {
	return fmt.Sprintf("%X", sha256.Sum256(encode(shaper{sameName}.command(db, command, body))))
}

func sameName(name string) string { return name }

func encode(doc bson.D) []byte {
	raw, _ := bson.Marshal(doc) // no error: it contains only strings, numbers and documents
	return raw
}

// key returns the key of the query's entry, which consists of the shape and the client.
func (q Query) key(rename RenameFunc) bson.D {
	s := shaper{rename}
	shape := s.command(q.Database, q.Command, q.Body)
	if shape == nil {
		return nil
	}
	key := bson.D{{Key: "queryShape", Value: shape}}
	if q.Command == "find" {
		concern := bson.D{{Key: "level", Value: "local"}, {Key: "provenance", Value: "implicitDefault"}}
		if level, given := q.Body.Lookup("readConcern", "level").StringValueOK(); given {
			concern = bson.D{{Key: "level", Value: level}, {Key: "provenance", Value: "clientSupplied"}}
		}
		key = append(key, bson.E{Key: "readConcern", Value: concern})
	}
	if q.Client != nil {
		client := bson.D{}
		for _, e := range elements(q.Client) {
			if e.Key() != "mongos" {
				client = append(client, bson.E{Key: e.Key(), Value: e.Value()})
			}
		}
		key = append(key, bson.E{Key: "client", Value: client})
	}
	if q.Command != "aggregate" {
		return key
	}
	if others := s.joinedCollections(q.Database, q.Body); len(others) > 0 {
		key = append(key, bson.E{Key: "otherNss", Value: others})
	}
	return append(key, bson.E{Key: "cursor", Value: bson.D{{Key: "batchSize", Value: "?number"}}})
}

// joinedCollections returns the other collections that a pipeline reads.
func (s shaper) joinedCollections(db string, body bson.Raw) bson.A {
	list := bson.A{}
	pipeline, _ := body.Lookup("pipeline").ArrayOK()
	for _, stage := range elements(bson.Raw(pipeline)) {
		doc, _ := stage.Value().DocumentOK()
		for _, at := range [][]string{{"$lookup", "from"}, {"$graphLookup", "from"}, {"$unionWith", "coll"}, {"$unionWith"}} {
			if coll, given := doc.Lookup(at...).StringValueOK(); given {
				list = append(list, s.namespace(db, coll))
			}
		}
	}
	return list
}

// metrics returns the metrics of an entry. The mock does not count examined keys and documents, nor the
// plan cache use.
func (e *entry) metrics(grouped bool) bson.D {
	counts := func(names ...string) (list bson.D) {
		for _, name := range names {
			list = append(list, bson.E{Key: name, Value: e.uncounted.doc()})
		}
		return list
	}
	planner := bson.D{}
	for _, name := range []string{"hasSortStage", "usedDisk", "fromMultiPlanner", "fromPlanCache"} {
		planner = append(planner, bson.E{Key: name,
			Value: bson.D{{Key: "true", Value: int64(0)}, {Key: "false", Value: e.executions}}})
	}
	first := bson.D{{Key: "firstResponseExecMicros", Value: e.firstResponseMicros.doc()}}
	work := append(bson.D{{Key: "docsReturned", Value: e.docs.doc()}},
		counts("keysExamined", "docsExamined", "bytesRead", "readTimeMicros")...)
	working := bson.E{Key: "workingTimeMillis", Value: e.workingMillis.doc()}
	doc := bson.D{{Key: "lastExecutionMicros", Value: e.lastMicros}, {Key: "execCount", Value: e.executions},
		{Key: "totalExecMicros", Value: e.totalMicros.doc()}}
	if grouped {
		doc = append(doc, working, bson.E{Key: "cursor", Value: first}, bson.E{Key: "queryExec", Value: work},
			bson.E{Key: "queryPlanner", Value: planner},
			bson.E{Key: "writes", Value: counts("nMatched", "nUpserted", "nModified", "nDeleted", "nInserted", "nUpdateOps")})
	} else {
		doc = slices.Concat(doc, first, work, bson.D{working}, planner)
	}
	return append(doc, bson.E{Key: "firstSeenTimestamp", Value: bson.NewDateTimeFromTime(e.first)},
		bson.E{Key: "latestSeenTimestamp", Value: bson.NewDateTimeFromTime(e.latest)})
}
