package live

import (
	"cmp"
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/preflight"
)

// ReadPrivileges returns the privileges of the user, which are nil without access control, and the
// roles of the user.
func ReadPrivileges(ctx context.Context, a CommandRunner) (*preflight.Privileges, []string, error) {
	reply, err := a.RunCommand(ctx, "admin",
		bson.D{{Key: "connectionStatus", Value: int32(1)}, {Key: "showPrivileges", Value: true}})
	if err != nil {
		return nil, nil, ServerError(err)
	}
	return preflight.ParsePrivileges(reply), preflight.ParseRoles(reply), nil
}

// maxPreflightCollections is the maximum number of collections whose indexes are read. The constants
// below limit the time and the number of concurrent reads.
const (
	maxPreflightCollections = 500
	preflightIndexTimeout   = 10 * time.Second
	parallelIndexReads      = 8 // at once
)

// ReadIndexes returns the indexes of collections by namespace, and the number of collections that were
// skipped because of the limits on number and time. Collections that the user may not read are left
// out.
func ReadIndexes(ctx context.Context, a CommandRunner, r catalog.Release, of []*catalog.CollectionState) (
	list map[string]preflight.Indexes, skipped int, err error) {
	reading, cancel := context.WithTimeout(ctx, preflightIndexTimeout)
	defer cancel()
	list = map[string]preflight.Indexes{}
	failed := 0
	var mu sync.Mutex
	_ = inParallel(reading, parallelIndexReads,
		of[:min(len(of), maxPreflightCollections)], // each read records its own errors
		func(ctx context.Context, c *catalog.CollectionState) error {
			has, refused := readIndexes(ctx, a, r, c)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case refused == nil:
				list[c.Namespace] = has
			case reading.Err() == nil:
				failed++
				err = cmp.Or(err, refused)
			}
			return nil
		})
	return list, len(of) - len(list) - failed, err
}

func readIndexes(ctx context.Context, a CommandRunner, r catalog.Release, c *catalog.CollectionState) (
	preflight.Indexes, error) {
	db, name, err := catalog.SplitNamespace(c.Namespace)
	if err != nil {
		return nil, err
	}
	docs, err := a.RunCursorCommand(ctx, db, bson.D{
		{Key: "aggregate", Value: name}, {Key: "pipeline", Value: indexStages()}, {Key: "cursor", Value: bson.D{}},
	})
	if err != nil {
		return nil, ServerError(err)
	}
	has := preflight.Indexes{}
	for _, doc := range docs {
		id := catalog.ShardID(text(doc, "shard"))
		has[id] = append(has[id], preflight.Index{Name: text(doc, "name"), SupportsShardKey: servesKey(r, doc, c.Pattern)})
	}
	return has, nil
}

// FindBlockingErrors returns a *HeldError as heldErr if another process holds the engine lease. A lease whose
// process has ended does not count, since it can be taken. quiescedErr is the error for a cluster that is
// kept quiet.
func FindBlockingErrors(ctx context.Context, client *mongo.Client, now time.Time) (heldErr, quiescedErr, err error) {
	holder, is, err := readEngineHolder(ctx, client)
	if err != nil {
		return nil, nil, err
	}
	if is && !processGone(holder) {
		heldErr = &HeldError{engineLease, holder}
	}
	record, err := ReadQuiesceRecord(ctx, client)
	if record != nil && record.IsActive(now) {
		quiescedErr = record.HeldError()
	}
	return heldErr, quiescedErr, err
}
