package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Executor reads and changes a sharded cluster for the engine, through a mongos. The cluster's own
// balancer sends commands to shards and to the config server; an Executor uses commands of a mongos
// instead. Operations without such a command return an UnsupportedError. An Executor writes nothing to
// config except for the write that MongoDB documents: noBalance of a collection.
//
// A mongos does not accept a routing version from its clients. If the balancer would send one, an
// Executor first checks that the chunk still is as the caller expects. The chunk may still change
// before the command.
type Executor struct {
	commands CommandRunner
	// routerRelease is the release of the router, which determines the commands. configRelease is that
	// of the config servers, which determines the rounds. Both are limited by the feature compatibility
	// version.
	routerRelease, configRelease catalog.Release
	compatibility                catalog.Compatibility
	comment                      string // of moves; empty if there is none
	// beforeMove, if set, is called immediately before a move. Its error cancels the move.
	beforeMove func(context.Context) error
}

var (
	_ balancer.ConcurrentCluster = (*Executor)(nil)
	_ balancer.Cluster           = (*Executor)(nil)
)

// NewExecutor returns an Executor for the release of the server. The error is
// ErrNotSharded if the server is not a mongos.
func NewExecutor(ctx context.Context, commands CommandRunner) (*Executor, error) {
	d := &Executor{commands: commands}
	if err := CheckSharded(ctx, d.commands); err != nil {
		return nil, ServerError(err)
	}
	info, err := d.runCommand(ctx, "admin", bson.D{{Key: "buildInfo", Value: 1}})
	if err != nil {
		return nil, err
	}
	version := text(info, "version")
	router, known := catalog.ReleaseOf(version)
	if !known {
		return nil, fmt.Errorf("unknown server version %q", version)
	}
	d.compatibility, err = readCompatibility(ctx, commands)
	d.routerRelease = d.compatibility.Release(router)
	d.configRelease = d.routerRelease
	return d, err
}

// WithCluster calls exchange with the cluster. Several exchanges may run concurrently.
func (d *Executor) WithCluster(exchange func(balancer.Cluster)) { exchange(d) }

// Release returns the release whose balancing rules apply, that of the config servers.
func (d *Executor) Release() catalog.Release { return d.configRelease }

// detectConfigRelease reads the release of the config servers' primary. If the primary can't be
// reached, the router's release is used. settings are those of the cluster's client.
func (d *Executor) detectConfigRelease(ctx context.Context, settings *options.ClientOptions) {
	hosts, err := readConfigHosts(ctx, d.runCommand)
	if err != nil {
		return
	}
	list := catalog.MembersOf(catalog.ConfigServerID, hosts)
	readMemberVersions(ctx, settings, list)
	if is, known := catalog.ReleaseOf(catalog.VersionOf(list, catalog.ConfigServerID)); known {
		d.configRelease = d.compatibility.Release(is)
	}
}

// UnsupportedError says that a mongos has no command for an operation. It is an errors.ErrUnsupported.
type UnsupportedError struct {
	// What is the operation, and Why is the reason, in a few words.
	What, Why string
}

// Error returns a text such as "storing estimates: no command does it".
func (e *UnsupportedError) Error() string { return e.What + ": " + e.Why }

// Is reports whether target is errors.ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// Failure says that a retry does not help.
func (e *UnsupportedError) Failure() policy.FailureClass { return policy.AskOperator }

const noCommand = "mongos has no command for it"

// runCommand sends one command; its error is a ServerError.
func (d *Executor) runCommand(ctx context.Context, db string, command bson.D) (bson.Raw, error) {
	reply, err := d.commands.RunCommand(ctx, db, command)
	return reply, ServerError(err)
}

// listDocs returns the documents of a cursor; its error is a ServerError.
func (d *Executor) listDocs(ctx context.Context, db string, command bson.D) ([]bson.Raw, error) {
	return d.listDocsWithTimeout(ctx, configTimeout, db, command)
}

// listDocsWithTimeout is like listDocs, with a time limit, which the driver sends as maxTimeMS.
func (d *Executor) listDocsWithTimeout(
	ctx context.Context,
	most time.Duration,
	db string,
	command bson.D,
) ([]bson.Raw, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	docs, err := d.commands.RunCursorCommand(ctx, db, command)
	return docs, ServerError(err)
}

// readSettings reads config.settings with one command.
func (d *Executor) readSettings(ctx context.Context) (catalog.Settings, error) {
	docs, err := d.findInConfig(ctx, "settings", bson.D{})
	if err != nil {
		return catalog.Settings{}, err
	}
	known := catalog.DefaultSettingsOf(d.configRelease)
	err = known.Load(func(id string) (bson.Raw, error) {
		for _, doc := range docs {
			if text(doc, "_id") == id {
				return doc, nil
			}
		}
		return nil, nil
	})
	return known, err
}

// findInConfig returns documents of config, with read concern majority.
func (d *Executor) findInConfig(
	ctx context.Context,
	collection string,
	filter bson.D,
	more ...bson.E,
) ([]bson.Raw, error) {
	command := bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}, fullBatch, ReadConcernMajority}
	return d.listDocs(ctx, "config", append(command, more...))
}

// fullBatch makes servers fill their first reply.
var fullBatch = bson.E{Key: "batchSize", Value: int32(chunkBatch)}

// ReadConcernMajority is the read concern of reads on which decisions depend.
var ReadConcernMajority = bson.E{Key: "readConcern", Value: bson.D{{Key: "level", Value: "majority"}}}

// sortBy returns a sort by one field.
func sortBy(field string, direction int) bson.E {
	return bson.E{Key: "sort", Value: bson.D{{Key: field, Value: direction}}}
}

// readCollection returns the entry of a collection in config.collections; the error is
// NamespaceNotFound if there is none.
func (d *Executor) readCollection(ctx context.Context, ns string) (catalog.Collection, error) {
	docs, err := d.findInConfig(ctx, "collections", bson.D{{Key: "_id", Value: ns}, notDropped})
	if err != nil {
		return catalog.Collection{}, err
	}
	if len(docs) == 0 {
		return catalog.Collection{}, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
	}
	return catalog.ParseCollection(docs[0])
}

// notDropped excludes dropped collections, whose entries releases up to 4.4 keep.
var notDropped = bson.E{Key: "dropped", Value: bson.D{{Key: "$ne", Value: true}}}

// readCollectionWithUUID returns a collection if it still has the UUID. It may have been dropped, and
// another collection may have been created with its name.
func (d *Executor) readCollectionWithUUID(ctx context.Context, ns string, uuid bson.Binary) (catalog.Collection,
	error) {
	coll, err := d.readCollection(ctx, ns)
	if err == nil && !coll.UUID.Equal(uuid) {
		return coll, mongoerr.New(mongoerr.NamespaceNotFound,
			"collection %s was dropped, and a new collection has its name", ns)
	}
	return coll, err
}

// readChunkAt returns the chunk that contains a key.
func (d *Executor) readChunkAt(ctx context.Context, coll catalog.Collection, key catalog.Key) (catalog.Chunk, error) {
	if key.IsZero() || len(key.Values()) != coll.Pattern.Len() {
		return catalog.Chunk{}, staleError("the shard key of %s has changed", coll.Namespace)
	}
	filter := bson.D{coll.ChunkFilter(), {Key: "min", Value: bson.D{{Key: "$lte", Value: coll.Pattern.Bound(key)}}}}
	docs, err := d.findInConfig(ctx, "chunks", filter, sortBy("min", -1), bson.E{Key: "limit", Value: 1})
	if err != nil {
		return catalog.Chunk{}, err
	}
	if len(docs) == 0 {
		return catalog.Chunk{}, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s has no chunks", coll.Namespace)
	}
	return catalog.ParseChunk(coll.Pattern, docs[0])
}

// readOwnedChunkAt is like readChunkAt, but it returns an error if another shard owns the chunk.
func (d *Executor) readOwnedChunkAt(ctx context.Context, coll catalog.Collection, key catalog.Key,
	by catalog.ShardID) (catalog.Chunk, error) {
	chunk, err := d.readChunkAt(ctx, coll, key)
	if err == nil && chunk.Shard != by {
		return chunk, staleError("the chunk of %s belongs to shard %s and not to %s", coll.Namespace, chunk.Shard, by)
	}
	return chunk, err
}

func staleError(format string, args ...any) error {
	return mongoerr.New(mongoerr.StaleConfig, format, args...)
}

// historyWindow is the default for how long shards keep the history of chunks
// (minSnapshotHistoryWindowInSeconds). A mongos does not report the value of the shards.
const historyWindow = 5 * time.Minute
