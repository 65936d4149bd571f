package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
)

// balancingUpdateBatch is the batch size of one update of config.collections. maxParallelSwitches is
// the maximum number of parallel commands.
const (
	balancingUpdateBatch = 500
	maxParallelSwitches  = 16
)

// BalancingError says which collections' balancing could not be switched. Its text is one line,
// whatever the number of collections.
type BalancingError struct {
	On         bool
	Namespaces []string
	// First is the error of the first collection.
	First error
}

// Error names a few collections and the remedy.
func (e *BalancingError) Error() string {
	if !e.On {
		return fmt.Sprintf("disabling balancing of %s: %v", humanize.AbbreviateCollections(e.Namespaces), e.First)
	}
	remedy := "shardsh balance --give-back"
	if len(e.Namespaces) == 1 {
		remedy = fmt.Sprintf("sh.enableBalancing(%q)", e.Namespaces[0])
	}
	return fmt.Sprintf("re-enabling balancing of %s: %v; run %s", humanize.AbbreviateCollections(e.Namespaces), e.First,
		remedy)
}

// Unwrap returns the first error.
func (e *BalancingError) Unwrap() error { return e.First }

// setBalancing switches the balancing of collections: from 8.0 on with the command for it, on older
// releases with the write that MongoDB documents. A collection that does not exist any more counts as
// switched on. It returns the collections that were switched; the error is a *BalancingError.
func (d *Executor) setBalancing(ctx context.Context, namespaces []string, on bool) (done []string, err error) {
	var failed map[string]error
	if d.routerRelease.HasBalancingCommand() {
		failed = d.configureBalancing(ctx, namespaces, on)
	} else {
		failed = d.writeBalancing(ctx, namespaces, on)
	}
	e := &BalancingError{On: on}
	for _, ns := range namespaces {
		switch err := failed[ns]; {
		case err == nil, on && isCollectionGone(err):
			done = append(done, ns)
		default:
			e.Namespaces = append(e.Namespaces, ns)
			if e.First == nil {
				e.First = err
			}
		}
	}
	if e.First == nil {
		return done, nil
	}
	return done, e
}

// isCollectionGone reports whether an error says that the sharded collection does not exist any more.
func isCollectionGone(err error) bool {
	return mongoerr.Is(err, mongoerr.NamespaceNotSharded) || mongoerr.Is(err, mongoerr.NamespaceNotFound)
}

func (d *Executor) configureBalancing(ctx context.Context, namespaces []string, on bool) map[string]error {
	failed := map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan string)
	for range min(maxParallelSwitches, len(namespaces)) {
		all.Go(func() {
			for ns := range next {
				_, err := d.runCommand(ctx, "admin", bson.D{
					{Key: "configureCollectionBalancing", Value: ns}, {Key: "enableBalancing", Value: on}})
				if err != nil {
					mu.Lock()
					failed[ns] = err
					mu.Unlock()
				}
			}
		})
	}
	for i, ns := range namespaces {
		if ctx.Err() != nil {
			mu.Lock()
			for _, ns := range namespaces[i:] {
				failed[ns] = context.Cause(ctx)
			}
			mu.Unlock()
			break
		}
		next <- ns
	}
	close(next)
	all.Wait()
	return failed
}

// writeBalancing does the same writes as mongosh's sh.enableBalancing and sh.disableBalancing.
func (d *Executor) writeBalancing(ctx context.Context, namespaces []string, on bool) map[string]error {
	failed := map[string]error{}
	for some := range slices.Chunk(namespaces, balancingUpdateBatch) {
		var updates bson.A
		for _, ns := range some {
			updates = append(updates, bson.D{
				{Key: "q", Value: bson.D{{Key: "_id", Value: ns}}},
				{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "noBalance", Value: !on}}}}},
			})
		}
		reply, err := d.runCommand(ctx, "config", bson.D{
			{Key: "update", Value: "collections"}, {Key: "updates", Value: updates}, {Key: "ordered", Value: false},
			{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}},
		})
		if err == nil && !catalog.IsTruthyInJS(reply.Lookup("writeErrors")) {
			continue
		}
		for i, ns := range some {
			if failed[ns] = err; err == nil {
				failed[ns] = writeErrorAt(reply, i)
			}
		}
	}
	return failed
}

// writeErrorAt returns the error of a statement in a reply with ok: 1.
func writeErrorAt(reply bson.Raw, statement int) error {
	list, _ := reply.Lookup("writeErrors").ArrayOK()
	values, _ := list.Values()
	for _, v := range values {
		if doc, _ := v.DocumentOK(); integer(doc, "index") == int64(statement) {
			return mongoerr.New(mongoerr.Code(integer(doc, "code")), "%s", text(doc, "errmsg"))
		}
	}
	return nil
}

// collectionBalancing is the balancing state of a collection in config.collections.
type collectionBalancing struct {
	disabled bool
	uuid     bson.Binary
}

// readBalancing reads whether balancing is disabled, for those of some collections that exist.
func (d *Executor) readBalancing(ctx context.Context, namespaces []string) (map[string]collectionBalancing, error) {
	return d.readBalancingWhere(ctx, bson.E{Key: "_id", Value: bson.D{{Key: "$in", Value: namespaces}}})
}

func (d *Executor) readBalancingWhere(ctx context.Context, which bson.E) (map[string]collectionBalancing, error) {
	docs, err := d.findInConfig(ctx, "collections", bson.D{which, notDropped},
		bson.E{Key: "projection", Value: bson.D{{Key: "noBalance", Value: 1}, {Key: "uuid", Value: 1}}})
	now := map[string]collectionBalancing{}
	for _, doc := range docs {
		off, _ := doc.Lookup("noBalance").BooleanOK()
		now[text(doc, "_id")] = collectionBalancing{off, uuidOf(doc)}
	}
	return now, err
}

// uuidOf returns the UUID in a document of config.collections; zero if there is none.
func uuidOf(doc bson.Raw) bson.Binary {
	subtype, data, _ := doc.Lookup("uuid").BinaryOK()
	return bson.Binary{Subtype: subtype, Data: data}
}

// balancingSwitch is a change log entry of a command that only switched balancing on or off. The entries
// of other commands, which change the chunk size or a defragmentation, have details.
type balancingSwitch struct {
	id   string
	time time.Time
}

// readLastBalancingSwitches returns the newest such entry for each collection. The log has no index, so it
// reads the whole log once, within a time limit.
func (d *Executor) readLastBalancingSwitches(ctx context.Context) (map[string]balancingSwitch, error) {
	docs, err := d.listDocs(ctx, "config", timeLimitedAggregate("changelog",
		bson.D{{Key: "$match", Value: bson.D{
			{Key: "what", Value: "configureCollectionBalancing"}, {Key: "details", Value: bson.D{}}}}},
		bson.D{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: "$ns"},
			{Key: "entry", Value: bson.D{{Key: "$last", Value: "$_id"}}},
			{Key: "time", Value: bson.D{{Key: "$last", Value: "$time"}}},
		}}}))
	entries := map[string]balancingSwitch{}
	for _, doc := range docs {
		entries[text(doc, "_id")] = balancingSwitch{text(doc, "entry"), date(doc, "time")}
	}
	return entries, err
}

const changelogTimeout = 20 * time.Second

func timeLimitedAggregate(collection string, stages ...bson.D) bson.D {
	return bson.D{
		{Key: "aggregate", Value: collection}, {Key: "pipeline", Value: stages}, {Key: "cursor", Value: bson.D{}},
		{Key: "maxTimeMS", Value: changelogTimeout.Milliseconds()},
	}
}
