package action

import (
	"context"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live/holdings"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/placement"
)

// maxTableReads is the maximum number of times that a routing table is read again because it has
// changed during the read.
const maxTableReads = 10

// ownerTable says which shard owns which documents of a collection at a time.
type ownerTable struct {
	coll     catalog.Collection
	newest   bson.Timestamp
	findings []placement.Finding // about the chunks
	judge    placement.Classifier
	// fingerprint changes whenever a chunk moves or a range deletion is added.
	fingerprint string
}

// readTable reads which shards own the documents of a collection. It takes the chunks of an earlier
// read if they have not changed since.
func (a *auditRun) readTable(ctx context.Context, ns string, previous *ownerTable) (*ownerTable, error) {
	return retryRead(ctx, a.readRetry, func() (*ownerTable, error) { return a.readTableOnce(ctx, ns, previous) })
}

func (a *auditRun) readTableOnce(ctx context.Context, ns string, previous *ownerTable) (*ownerTable, error) {
	for range maxTableReads {
		t, err := a.readTableWithoutChunks(ctx, ns)
		if err != nil {
			return nil, err
		}
		if t.judge.Owners != nil {
			return t, nil // the collection has no chunks
		}
		if previous != nil && previous.newest == t.newest && previous.coll.UUID.Equal(t.coll.UUID) &&
			previous.coll.Epoch == t.coll.Epoch &&
			previous.coll.Pattern.Equal(t.coll.Pattern) {
			t.judge.Owners, t.findings = previous.judge.Owners, previous.findings
			return t, nil
		}
		reader := placement.NewOwnersBuilder(t.coll, a.shards.IDs())
		if err := a.shards.EachChunk(ctx, t.coll, reader.Add); err != nil {
			return nil, err
		}
		t.judge.Owners, t.findings = reader.Finish()
		again, err := a.readTableWithoutChunks(ctx, ns)
		if err != nil {
			return nil, err
		}
		if again.fingerprint == t.fingerprint {
			return t, nil
		}
	}
	return nil, fmt.Errorf("the routing table of %s changed during the read, %d times in a row", ns, maxTableReads)
}

// readTableWithoutChunks reads the table of a collection without the chunks.
func (a *auditRun) readTableWithoutChunks(ctx context.Context, ns string) (*ownerTable, error) {
	coll, err := a.shards.ReadCollection(ctx, ns)
	if mongoerr.Is(err, mongoerr.NamespaceNotFound) && a.untracked[ns] {
		return a.readUntrackedTable(ctx, ns)
	}
	if err != nil {
		return nil, err
	}
	t := &ownerTable{coll: coll, judge: placement.Classifier{Pattern: coll.Pattern, UUID: coll.UUID,
		Deletions: map[catalog.ShardID][]placement.RangeDeletion{}}}
	if t.newest, err = a.shards.ReadNewestVersion(ctx, coll); err != nil {
		return nil, err
	}
	var stamp strings.Builder
	fmt.Fprintf(&stamp, "%x %s %v %s", coll.UUID.Data, coll.Epoch.Hex(), t.newest, coll.Pattern)
	for _, s := range a.shards.ReadableShards() {
		docs, err := s.ReadDeletions(ctx, coll.UUID)
		if err != nil {
			return nil, err
		}
		t.judge.Deletions[s.ID] = holdings.ParseDeletions(coll, docs)
		for _, doc := range docs {
			fmt.Fprintf(&stamp, " %s %s %s %s", s.ID, doc.Lookup("_id"), doc.Lookup("range"), doc.Lookup("pending"))
		}
	}
	t.fingerprint = stamp.String()
	return t, nil
}

// readUntrackedTable returns the table of a collection that is not in config.collections: its
// database's primary owns all documents.
func (a *auditRun) readUntrackedTable(ctx context.Context, ns string) (*ownerTable, error) {
	primary, err := a.shards.ReadPrimary(ctx, ns)
	if err != nil {
		return nil, err
	}
	pattern, err := catalog.ParseKeyPattern(idPattern)
	if err != nil {
		return nil, err
	}
	t := &ownerTable{coll: catalog.Collection{Namespace: ns, Pattern: pattern}, fingerprint: string(primary)}
	t.judge = placement.Classifier{Pattern: pattern, Owners: placement.NewOwnersOnOneShard(pattern, primary)}
	return t, nil
}
