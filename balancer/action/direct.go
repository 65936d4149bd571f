package action

import (
	"context"
	"errors"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/consent"
)

// Direct holds single commands of a script that change how data are distributed, such as
// those of sh.moveRange, to the policies, and writes them down. Several goroutines may use
// it at once.
type Direct struct {
	cluster Cluster

	mu    sync.Mutex
	audit *auditor // of all commands of the script; nil before the first one
}

// NewDirect returns the Direct of a cluster; nil where there is no policy and no audit.
func NewDirect(c Cluster) *Direct {
	if len(c.Policies)+len(c.Audits()) == 0 {
		return nil
	}
	return &Direct{cluster: c}
}

// distributing are the commands that a Direct looks at, besides writes to config.
var distributing = []string{
	"abortMoveCollection", "abortReshardCollection", "abortUnshardCollection", "addShard", "addshard", "addShardToZone",
	"balancerStart", "balancerStop", "cleanupReshardCollection", "clearJumboFlag",
	"commitReshardCollection", "commitShardRemoval", "commitTransitionToDedicatedConfigServer",
	"configureCollectionBalancing", "enableSharding", "enablesharding", "mergeAllChunksOnShard", "mergeChunks",
	"moveChunk", "movechunk", "moveCollection", "movePrimary", "moveprimary", "moveRange", "refineCollectionShardKey",
	"removeShard", "removeshard", "removeShardFromZone", "reshardCollection", "setAllowMigrations", "shardCollection",
	"shardcollection", "split", "startShardDraining", "startTransitionToDedicatedConfigServer", "stopShardDraining",
	"stopTransitionToDedicatedConfigServer", "transitionFromDedicatedConfigServer", "transitionToDedicatedConfigServer",
	"unshardCollection", "updateZoneKeyRange",
}

// stopping are commands that stop something, which is always allowed.
var stopping = []string{"abortMoveCollection", "abortReshardCollection", "abortUnshardCollection", "balancerStop"}

func isDistributing(database, name string) bool {
	writes := []string{"delete", "findAndModify", "findandmodify", "insert", "update"}
	return slices.Contains(distributing, name) || database == "config" && slices.Contains(writes, name)
}

// Begin lets a command be sent, once it is written down. Answered takes what became of it;
// it is nil for a command that a Direct does not look at.
func (d *Direct) Begin(ctx context.Context, database string, raw bson.Raw) (answered func(bson.Raw, error), err error) {
	var command bson.D
	if err := bson.Unmarshal(raw, &command); err != nil || len(command) == 0 || !isDistributing(database, command[0].Key) {
		return nil, nil //nolint:nilerr // the server refuses what can't be read
	}
	names := namespacesOf(database, command)
	if !restores(command) && !slices.Contains(stopping, command[0].Key) {
		o := consent.Order{Verb: consent.Commands, Namespaces: databasesAsPatterns(command[0].Key, names)}
		if err := d.cluster.permitted(ctx, o); err != nil {
			return nil, err
		}
	}
	a, err := d.auditor(ctx)
	if err != nil || a == nil {
		return nil, err
	}
	entry, err := a.sending(ctx, database, command)
	if err != nil {
		return nil, err
	}
	return func(reply bson.Raw, err error) { a.sent(ctx, entry, reply, err) }, nil
}

// databasesAsPatterns has a command about a database be about all of its collections.
func databasesAsPatterns(name string, names []string) []string {
	if len(names) == 1 && slices.Contains(ofDatabases, name) {
		return []string{names[0] + ".*"}
	}
	return names
}

// ofDatabases are the commands that name a database.
var ofDatabases = []string{"enableSharding", "enablesharding", "movePrimary", "moveprimary"}

// auditor opens the audit at the first command; nil where none is asked for.
func (d *Direct) auditor(ctx context.Context) (*auditor, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	destinations := d.cluster.Audits()
	if d.audit != nil || len(destinations) == 0 {
		return d.audit, nil
	}
	a, err := newAuditor(ctx, d.cluster, destinations, order{verb: consent.Commands})
	d.audit = a
	return a, err
}

// Close closes the audit.
func (d *Direct) Close() error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.audit == nil {
		return nil
	}
	left := d.audit.flushAll(context.Background())
	return errors.Join(left, d.audit.sink.Close())
}
