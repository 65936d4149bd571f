package reads

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mongoerr"
)

// changeStream continues a cursor with change events.
type changeStream struct {
	db, coll           string // the watched database or collection; both empty to watch the cluster
	position           bson.Timestamp
	sentToken          any    // the resume token up to which the client has the events
	fullDocument       string // fullDocument
	fullDocumentBefore string // fullDocumentBeforeChange
	showExpanded       bool   // showExpandedEvents
	pipeline           *pipeline.Pipeline
	splitLarge         bool // splits large events
	// resumedEvent is the time of the event within which the stream was resumed, sentFragments the number of
	// its fragments that are not repeated.
	resumedEvent  bson.Timestamp
	sentFragments int
}

func changeStreamFields(r catalog.Release) []args.Field {
	list := []args.Field{
		args.Optional("fullDocument", args.String), args.Optional("fullDocumentBeforeChange", args.String),
		args.Optional("resumeAfter", args.Object),
		args.Optional("startAfter", args.Object), args.Optional("startAtOperationTime", args.Any),
		args.Optional("allChangesForCluster", args.Bool), args.Optional("showExpandedEvents", args.Bool),
	}
	if r.SupportsIgnoreRemovedShards() {
		list = append(list, args.Optional("ignoreRemovedShards", args.Bool)) // without effect in the mock
	}
	return list
}

// streamStages are the stages that may follow $changeStream.
var streamStages = []string{"$addFields", "$match", "$project", "$replaceRoot", "$replaceWith", "$redact", "$set",
	"$unset"}

// watch opens a change stream.
func watch(c *call.Call, v bson.RawValue, rest []bson.Raw, size int) (bson.D, error) {
	spec, isDoc := v.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "the $changeStream stage specification must be an object, found %s",
			args.TypeName(v.Type))
	}
	if err := args.Check("$changeStream", changeStreamFields(c.Node.Release()), spec); err != nil {
		return nil, err
	}
	if err := checkStreamOptions(spec); err != nil {
		return nil, err
	}
	s := &changeStream{
		fullDocument: args.Text(spec.Lookup("fullDocument")),
		fullDocumentBefore: args.Text(
			spec.Lookup("fullDocumentBeforeChange"),
		),
		showExpanded: args.IsTrueOrNonzero(spec.Lookup("showExpandedEvents")),
	}
	ns, err := readWatchTarget(c, s, args.IsTrueOrNonzero(spec.Lookup("allChangesForCluster")))
	if err != nil {
		return nil, err
	}
	if rest, s.splitLarge, err = takeSplitStage(rest); err != nil {
		return nil, err
	}
	if s.pipeline, err = streamPipeline(c, rest); err != nil {
		return nil, err
	}
	now := c.Cluster.Changes().Start()
	if err = s.start(spec, now); err != nil {
		return nil, err
	}
	open := &call.Cursor{NS: ns, Continuation: s}
	if err := s.readChanges(c, open); err != nil {
		return nil, err
	}
	first, err := call.OpenCursor(c, open, size, false)
	if err != nil {
		return nil, err
	}
	return bson.D{{Key: "cursor",
		Value: withResumeToken(open, first.Batch, bson.D{{Key: "id", Value: first.ID}, {Key: "ns", Value: ns},
			{Key: "firstBatch", Value: first.Batch}})}}, nil
}

func checkStreamOptions(spec bson.Raw) error {
	for name, known := range map[string][]string{
		"fullDocument":             {"default", "updateLookup", "whenAvailable", "required"},
		"fullDocumentBeforeChange": {"off", "whenAvailable", "required"},
	} {
		mode, given := spec.Lookup(name).StringValueOK()
		if given && !slices.Contains(known, mode) {
			return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '$changeStream.%s' is not a valid value.",
				mode, name)
		}
	}
	return nil
}

// readWatchTarget reads the namespace that a stream watches and returns the cursor's namespace.
func readWatchTarget(c *call.Call, s *changeStream, wholeCluster bool) (string, error) {
	ns, database, err := c.AggregateNamespace()
	switch {
	case err != nil:
		return "", err
	case wholeCluster && (c.DB != "admin" || !database):
		return "", mongoerr.New(mongoerr.InvalidOptions,
			"A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' database, and with no "+
				"collection name; found %s", ns)
	case wholeCluster:
		return ns, nil
	case c.DB == "admin" || c.DB == "config":
		return "", mongoerr.New(mongoerr.InvalidNamespace, "$changeStream may not be opened on the internal %s database",
			c.DB)
	}
	s.db = c.DB
	if !database {
		_, s.coll, _ = strings.Cut(ns, ".")
		if call.IsView(c, ns) {
			return "", mongoerr.New(mongoerr.CommandNotSupportedOnView, "$changeStream is not supported on views: %s", ns)
		}
	}
	return ns, nil
}

func streamPipeline(c *call.Call, stages []bson.Raw) (*pipeline.Pipeline, error) {
	for _, s := range stages {
		if name, _, err := call.Stage(s); err == nil && !slices.Contains(streamStages, name) {
			return nil, mongoerr.New(mongoerr.IllegalOperation, "%s is not permitted in a $changeStream pipeline", name)
		}
	}
	let, err := call.WithoutLock(c, func(context.Context) (bson.Raw, error) { return c.Let() })
	if err != nil {
		return nil, err
	}
	_, env := pipelineEnvironment(c, c.DB, let)
	return call.WithoutLock(c, func(context.Context) (*pipeline.Pipeline, error) { return pipeline.Compile(stages, env) })
}

// start sets the position after which the stream returns changes.
func (s *changeStream) start(spec bson.Raw, now bson.Timestamp) error {
	at, fragment, err := startTime(spec, now)
	if err != nil {
		return err
	}
	s.position, s.sentToken = at, resumeToken(at)
	if fragment > 0 && s.splitLarge {
		s.position, s.resumedEvent, s.sentFragments = timeBefore(at), at, fragment
	}
	return nil
}

// timeBefore returns the time before a cluster time, so that a change at that time is included.
func timeBefore(at bson.Timestamp) bson.Timestamp {
	before := max(uint64(at.T)<<32|uint64(at.I), 1) - 1
	return bson.Timestamp{T: uint32(before >> 32), I: uint32(before)}
}

// startTime returns the time after which a stream returns changes, and the number of fragments of the
// event at that time after which it resumes, 0 for the whole event.
func startTime(spec bson.Raw, now bson.Timestamp) (at bson.Timestamp, fragment int, err error) {
	after, isAfter := spec.Lookup("startAfter").DocumentOK()
	token, isToken := spec.Lookup("resumeAfter").DocumentOK()
	if isAfter && isToken {
		return now, 0, mongoerr.New(50865, "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage.")
	}
	operationTime := spec.Lookup("startAtOperationTime")
	if !operationTime.IsZero() && operationTime.Type != bson.TypeTimestamp {
		return now, 0, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '$changeStream.startAtOperationTime' is the wrong type '%s', expected type 'timestamp'",
			args.TypeName(operationTime.Type))
	}
	switch {
	case (isAfter || isToken) && !operationTime.IsZero():
		return now, 0, mongoerr.New(40674, "Only one type of resume option is allowed, but multiple were found.")
	case isAfter:
		return parseResumeToken(after)
	case isToken:
		return parseResumeToken(token)
	case !operationTime.IsZero():
		t, i := operationTime.Timestamp()
		return timeBefore(bson.Timestamp{T: t, I: i}), 0, nil
	}
	return now, 0, nil
}

// tokenEnd is the end of each resume token, which begins with 82 and a timestamp. In the token of a
// fragment a zero byte for each fragment up to it follows.
const tokenEnd = "2B0229296E04"

func resumeToken(at bson.Timestamp) bson.D { return bson.D{{Key: "_data", Value: resumeTokenText(at)}} }

func resumeTokenText(at bson.Timestamp) string {
	b := binary.BigEndian.AppendUint32([]byte{0x82}, at.T)
	return strings.ToUpper(hex.EncodeToString(binary.BigEndian.AppendUint32(b, at.I))) + tokenEnd
}

func parseResumeToken(token bson.Raw) (at bson.Timestamp, fragment int, err error) {
	text, _ := token.Lookup("_data").StringValueOK()
	b, err := hex.DecodeString(text)
	if err != nil {
		return at, 0, mongoerr.New(mongoerr.FailedToParse, "Resume token %s is not hexadecimal", token)
	}
	if len(b) < 9 || b[0] != 0x82 {
		return at, 0, mongoerr.New(mongoerr.InvalidResumeToken, "Resume token %s is not valid", token)
	}
	at = bson.Timestamp{T: binary.BigEndian.Uint32(b[1:]), I: binary.BigEndian.Uint32(b[5:])}
	return at, max(0, len(b)-9-len(tokenEnd)/2), nil
}

// withResumeToken adds the resume token of a change stream to the cursor of a reply. While events are
// buffered it is the token of the last event of the batch: the client must not skip the others.
func withResumeToken(open *call.Cursor, batch bson.A, shown bson.D) bson.D {
	s, ok := open.Continuation.(*changeStream)
	if !ok {
		return shown
	}
	if len(open.Buffered) == 0 {
		s.sentToken = resumeToken(s.position)
	} else if n := len(batch); n > 0 {
		if last, isDoc := batch[n-1].(bson.Raw); isDoc {
			token, _ := last.Lookup("_id").DocumentOK()
			s.sentToken = slices.Clone(token) // the event may be large
		}
	}
	return append(shown, bson.E{Key: "postBatchResumeToken", Value: s.sentToken})
}

func (s *changeStream) Awaits() bool { return true }

func (s *changeStream) HasChangeEvents() bool { return true }

// Read appends the changes since the last read to the cursor, and waits for changes until deadline.
func (s *changeStream) Read(c *call.Call, open *call.Cursor, deadline time.Time) error {
	for {
		if err := s.readChanges(c, open); err != nil || len(open.Buffered) > 0 || open.Continuation == nil ||
			!c.Cluster.Now().Before(deadline) {
			return err
		}
		changed := func() bool { return c.Cluster.Changes().HasAfter(s.position) }
		if over, err := isWaitOver(c.Cluster.ClockUnderLock().Await(c.Ctx, deadline, changed)); over {
			return err
		}
	}
}

// readChanges appends the available changes to the cursor. If the watched collection or database was
// dropped, it ends the stream.
func (s *changeStream) readChanges(c *call.Call, open *call.Cursor) error {
	list, err := c.Cluster.Changes().After(s.position)
	if err != nil {
		return err
	}
	var events []bson.Raw
	for _, ch := range list {
		s.position = ch.At
		if !s.isWatched(ch) {
			continue
		}
		event, err := event(c.Cluster, s, ch)
		if err != nil {
			return err
		}
		docs := []bson.D{event}
		if s.endsStream(ch) {
			open.Continuation = nil
			docs = append(docs, eventHead(ch, "invalidate"))
		}
		encoded, err := call.MarshalAll(docs)
		if err != nil {
			return err
		}
		events = append(events, encoded...)
		if open.Continuation == nil {
			break
		}
	}
	if now := c.Cluster.Changes().Start(); now.After(s.position) && open.Continuation != nil {
		s.position = now // an idle stream's token follows the cluster's time
	}
	if len(events) == 0 {
		return nil
	}
	open.Buffered, err = call.WithoutLock(c,
		func(ctx context.Context) ([]bson.Raw, error) { return s.runPipeline(ctx, events) })
	return err
}

// runPipeline runs events through the stream's pipeline, which keeps their order.
func (s *changeStream) runPipeline(ctx context.Context, events []bson.Raw) ([]bson.Raw, error) {
	var list []bson.Raw
	rest := events
	for doc, err := range s.pipeline.Run(ctx, slices.Values(events)) {
		if err != nil {
			return nil, err
		}
		if rest, err = eventsFrom(doc, rest); err != nil {
			return nil, err
		}
		if !s.splitLarge {
			list = append(list, doc)
			continue
		}
		parts, err := fragments(doc)
		if err != nil {
			return nil, err
		}
		if s.sentFragments > 0 && tokenTextOf(doc) == resumeTokenText(s.resumedEvent) {
			parts = parts[min(s.sentFragments, len(parts)):]
		}
		list = append(list, parts...)
	}
	return list, nil
}

// eventsFrom returns the events from the one that doc was computed from. A pipeline must not change the
// resume token in _id.
func eventsFrom(doc bson.Raw, events []bson.Raw) ([]bson.Raw, error) {
	token := doc.Lookup("_id")
	if i := slices.IndexFunc(events, func(e bson.Raw) bool { return token.Equal(e.Lookup("_id")) }); i >= 0 {
		return events[i:], nil
	}
	return nil, mongoerr.New(mongoerr.ChangeStreamFatalError,
		"Encountered an event whose _id field, which contains the resume token, was modified by the pipeline. "+
			"Modifying the _id field of an event makes it impossible to resume the stream from that point. "+
			"Only transformations that retain the unmodified _id field are allowed. Found: %s", doc)
}

func (s *changeStream) isWatched(ch mock.Change) bool {
	db, coll, _ := strings.Cut(ch.Namespace, ".")
	if ch.IsExpanded() && !s.showExpanded {
		return false
	}
	if s.coll != "" {
		return db == s.db && (coll == s.coll || ch.To == s.db+"."+s.coll) && ch.Kind != mock.ChangeDropDatabase
	}
	return (s.db == "" || db == s.db) && !strings.HasPrefix(coll, "system.")
}

// endsStream reports whether the change drops or renames the watched database or collection.
func (s *changeStream) endsStream(ch mock.Change) bool {
	switch ch.Kind {
	case mock.ChangeDrop, mock.ChangeRename:
		return s.coll != ""
	case mock.ChangeDropDatabase:
		return s.db != ""
	}
	return false
}
