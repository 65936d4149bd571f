package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
)

// ActivityKind is a kind of work that keeps a cluster from being quiet.
type ActivityKind string

// These are the kinds of work. ActivityUnknown stands for a part of the cluster that can't be read.
const (
	ActivityRound       ActivityKind = "round"
	ActivityMigration   ActivityKind = "migration"
	ActivityMerge       ActivityKind = "merge"
	ActivityMovePrimary ActivityKind = "movePrimary"
	ActivityResharding  ActivityKind = "resharding"
	ActivityDeletion    ActivityKind = "rangeDeletion"
	ActivityRun         ActivityKind = "run"
	ActivityFCVChange   ActivityKind = "featureCompatibilityVersion"
	ActivityUnknown     ActivityKind = "unknown"
)

// Activity is work in progress that moves, merges or deletes data.
type Activity struct {
	Kind      ActivityKind    `json:"kind"`
	Namespace string          `json:"ns,omitzero"`
	Shard     catalog.ShardID `json:"shard,omitzero"`
	// Count is the number of pending range deletions; 0 if only the number of documents is known.
	Count int64 `json:"count,omitzero"`
	// Documents is the number of documents to delete; 0 if only the number of ranges is known.
	Documents int64 `json:"documents,omitzero"`
	// Elapsed is the time since the work began. Remaining is the estimated remaining time. 0 means unknown.
	Elapsed   time.Duration `json:"-"`
	Remaining time.Duration `json:"-"`
	Detail    string        `json:"detail,omitzero"`
}

// String returns a description such as "migration of shop.orders on shard0, for 12s".
func (b Activity) String() string {
	var text string
	switch b.Kind {
	case ActivityRound:
		text = "a round of the balancer"
	case ActivityMigration:
		text = "migration"
	case ActivityMerge:
		text = "merge of chunks"
	case ActivityMovePrimary:
		text = "movePrimary"
	case ActivityResharding:
		text = cmp.Or(b.Detail, "resharding")
	case ActivityDeletion:
		text = cmp.Or(b.Detail, humanize.Count(b.Count, "range deletion"))
	default:
		text = b.Detail
	}
	if b.Namespace != "" {
		text += " of " + b.Namespace
	}
	if b.Shard != "" && b.Kind != ActivityUnknown {
		text += " on " + string(b.Shard)
	}
	if b.Elapsed >= time.Second {
		text += fmt.Sprintf(", for %v", b.Elapsed.Round(time.Second))
	}
	return text
}

// sameWork reports whether two reads have found the same work.
func (b Activity) sameWork(other Activity) bool {
	return b.Kind == other.Kind && b.Namespace == other.Namespace && b.Shard == other.Shard
}

// BalancerStatus is the result of balancerStatus.
type BalancerStatus struct {
	Mode    catalog.Mode
	InRound bool
	Rounds  int64
	Term    int64 // 0 before 6.0
}

// ActivityReader finds work that moves, merges or deletes data. Commands are sent to the mongos, and
// Members reads the shards' primaries; with a nil MemberReader the primaries are not read.
type ActivityReader struct {
	Commands CommandRunner
	Members  *MemberReader
	// IgnoreDeletions ignores range deletions.
	IgnoreDeletions bool

	membersErr error // why a shard's primary could not be read; from then on only the mongos is asked
}

// activityTimeLimit is the time limit for commands.
var activityTimeLimit = bson.E{Key: "maxTimeMS", Value: int32(15_000)}

// ReadStatus returns the state of the balancer.
func (ar *ActivityReader) ReadStatus(ctx context.Context) (s BalancerStatus, err error) {
	reply, err := ar.Commands.RunCommand(ctx, "admin", bson.D{{Key: "balancerStatus", Value: int32(1)}})
	if err != nil {
		return s, ServerError(err)
	}
	return BalancerStatus{
		Mode: catalog.Mode(text(reply, "mode")), InRound: catalog.IsTruthyInJS(reply.Lookup("inBalancerRound")),
		Rounds: integer(reply, "numBalancerRounds"), Term: integer(reply, "term"),
	}, nil
}

// ReadActivities returns the work in progress on all shards. Range deletions, for which each shard is asked,
// are read with all, or if there is no other work. A step-down of the config server's primary ends a
// round, but the shards continue its commands; therefore the shards are asked as well.
func (ar *ActivityReader) ReadActivities(ctx context.Context, all bool) ([]Activity, error) {
	list, err := ar.readOperations(ctx)
	if err != nil {
		return nil, err
	}
	compatible, err := readCompatibility(ctx, ar.Commands)
	if err != nil {
		return nil, err
	}
	if compatible.Changing() { // this moves metadata, even if the balancer is off
		text := fmt.Sprintf("the feature compatibility version is %v", compatible)
		list = append(list, Activity{Kind: ActivityFCVChange, Detail: text})
	}
	reshardings, err := ar.readReshardings(ctx)
	if err != nil {
		return nil, err
	}
	list = append(list, reshardings...)
	if !ar.IgnoreDeletions && (all || len(list) == 0) {
		deletions, err := ar.readDeletions(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, deletions...)
	}
	return list, nil
}

// busyCommands are the commands of shards and background tasks in $currentOp, with the kind of work of
// each.
var busyCommands = []struct {
	name string
	kind ActivityKind
}{
	{"_shardsvrMoveRange", ActivityMigration}, {"moveChunk", ActivityMigration},
	{"_shardsvrMergeAllChunksOnShard", ActivityMerge}, {"_shardsvrMergeChunks", ActivityMerge},
	{"_shardsvrMovePrimary", ActivityMovePrimary}, {"_movePrimary", ActivityMovePrimary},
}

// readOperations reads the operations of the primaries of all shards. The worker thread of a donor is
// shown only with idle connections, and without a collection.
func (ar *ActivityReader) readOperations(ctx context.Context) ([]Activity, error) {
	where := bson.A{bson.D{{Key: "desc", Value: bson.Regex{Pattern: "^MoveChunk|^migrateThread"}}}}
	for _, c := range busyCommands {
		where = append(where, bson.D{{Key: "command." + c.name, Value: bson.D{{Key: "$exists", Value: true}}}})
	}
	ops, err := ar.Commands.RunCursorCommand(ctx, "admin", append(aggregateCommand(int32(1),
		bson.D{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: true}, {Key: "idleConnections", Value: true}}}},
		bson.D{{Key: "$match", Value: bson.D{{Key: "$or", Value: where}}}}), activityTimeLimit))
	if err != nil {
		return nil, ServerError(err)
	}
	var list []Activity
	for _, op := range ops {
		list = append(list, parseBusy(op))
	}
	// A migration is shown several times; its command names the collection.
	slices.SortStableFunc(list, func(a, b Activity) int { return cmp.Compare(len(b.Namespace), len(a.Namespace)) })
	var some []Activity
	for _, b := range list {
		known := slices.ContainsFunc(some, func(other Activity) bool {
			return other.Kind == b.Kind && (other.Shard == b.Shard || b.Namespace == "" && b.Kind == ActivityMigration)
		})
		if !known {
			some = append(some, b)
		}
	}
	return some, nil
}

func parseBusy(op bson.Raw) Activity {
	b := Activity{Kind: ActivityMigration, Shard: catalog.ShardID(text(op, "shard")), Elapsed: seconds(op, "secs_running")}
	for _, c := range busyCommands {
		if ns := text(op, "command", c.name); ns != "" {
			b.Kind, b.Namespace = c.kind, ns
		}
	}
	if ns := text(op, "ns"); b.Namespace == "" && !strings.HasPrefix(ns, "admin.") {
		b.Namespace = ns
	}
	return b
}

// readReshardings reads the reshardings and collection moves in progress.
func (ar *ActivityReader) readReshardings(ctx context.Context) ([]Activity, error) {
	docs, err := ar.findInConfig(ctx, bson.D{{Key: "find", Value: "reshardingOperations"}})
	if err != nil {
		return nil, err
	}
	var all activity
	for _, doc := range docs {
		all.addReshardingEntry(doc)
	}
	var list []Activity
	for _, r := range all.reshardings {
		list = append(list, Activity{Kind: ActivityResharding, Namespace: r.Namespace, Remaining: r.Remaining,
			Detail: r.Kind})
	}
	return list, nil
}

// findInConfig reads the config database. It returns an error if the user may not read it.
func (ar *ActivityReader) findInConfig(ctx context.Context, command bson.D) ([]bson.Raw, error) {
	docs, err := ar.Commands.RunCursorCommand(ctx, "config", append(command, activityTimeLimit))
	return docs, ServerError(err)
}

// readDeletions reads the number of pending range deletions of each shard. It reads them from the
// shards' primaries or, if these can't be reached, from the mongos, as the number of known orphans.
func (ar *ActivityReader) readDeletions(ctx context.Context) ([]Activity, error) {
	if ar.Members == nil {
		ar.membersErr = errors.New("the members of the shards can't be reached")
	}
	if ar.membersErr == nil {
		list, err := ar.readShardDeletions(ctx)
		lost := new(MembersError)
		if !errors.As(err, &lost) || ctx.Err() != nil {
			return list, err
		}
		ar.membersErr = fmt.Errorf("%s (%s): %w", lost.Shard, lost.Hosts, lost.Err)
	}
	list, err := ar.readOrphans(ctx)
	if mongoerr.Is(err, mongoerr.UnknownStage) {
		err = nil
		list = []Activity{{Kind: ActivityUnknown, Detail: fmt.Sprintf(
			"range deletions, which only the shards know (to not wait for them: --ignore-deletions, ignoreDeletions: true): %v",
			ar.membersErr)}}
		if ar.Members != nil {
			ar.membersErr = nil // a shard may be down for a while
		}
	}
	return list, err
}

func (ar *ActivityReader) readShardDeletions(ctx context.Context) (list []Activity, err error) {
	ids, err := ar.Members.listShards(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		busy, err := ar.Members.readPendingDeletions(ctx, id)
		if err != nil {
			return nil, err
		}
		list = append(list, busy...)
	}
	return list, nil
}

// readOrphans reads which shards have orphaned documents.
func (ar *ActivityReader) readOrphans(ctx context.Context) (list []Activity, err error) {
	docs, err := ar.Commands.RunCursorCommand(ctx, "admin", append(aggregateCommand(int32(1),
		bson.D{{Key: "$shardedDataDistribution", Value: bson.D{}}},
		bson.D{{Key: "$match", Value: bson.D{
			{Key: "shards.numOrphanedDocs", Value: bson.D{{Key: "$gt", Value: 0}}}}}}), activityTimeLimit))
	if err != nil {
		return nil, ServerError(err)
	}
	for _, doc := range docs {
		_, sizes := catalog.ParseDistribution(doc)
		for id, data := range sizes {
			if data.Orphans > 0 {
				list = append(list, Activity{Kind: ActivityDeletion, Namespace: text(doc, "ns"), Shard: id, Documents: data.Orphans,
					Detail: humanize.Count(data.Orphans, "document") + " to delete"})
			}
		}
	}
	slices.SortFunc(list, func(a, b Activity) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Shard, b.Shard))
	})
	return list, nil
}

// readPendingDeletions reads from the primary of a shard the number of pending range deletions, and
// whether a migration is not decided, as after a step-down of the shard's primary.
func (m *MemberReader) readPendingDeletions(ctx context.Context, id catalog.ShardID) (list []Activity, err error) {
	err = m.withShardClient(ctx, id, func(ctx context.Context, client *mongo.Client) error {
		config := client.Database("config")
		n, err := config.Collection("rangeDeletions").CountDocuments(ctx, bson.D{})
		if err != nil {
			return err
		}
		if n > 0 {
			list = append(list, Activity{Kind: ActivityDeletion, Shard: id, Count: n, Remaining: cleanupDelayOf(ctx, client)})
		}
		unsettled, err := config.Collection("migrationCoordinators").CountDocuments(ctx, bson.D{})
		if unsettled > 0 {
			list = append(list, Activity{Kind: ActivityMigration, Shard: id, Detail: "not settled"})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// readCleanupDelay reads orphanCleanupDelaySecs from the primary of a shard; 0 if the shard does not
// report it.
func (m *MemberReader) readCleanupDelay(ctx context.Context, id catalog.ShardID) (time.Duration, error) {
	var delay time.Duration
	err := m.withShardClient(ctx, id, func(ctx context.Context, client *mongo.Client) error {
		delay = cleanupDelayOf(ctx, client)
		return nil
	})
	return delay, err
}

// cleanupDelayOf reads orphanCleanupDelaySecs; 0 if the server does not report it.
func cleanupDelayOf(ctx context.Context, client *mongo.Client) time.Duration {
	const delay = "orphanCleanupDelaySecs"
	command := bson.D{{Key: "getParameter", Value: 1}, {Key: delay, Value: 1}}
	reply, err := client.Database("admin").RunCommand(ctx, command).Raw()
	if err != nil {
		return 0
	}
	return seconds(reply, delay)
}

// withShardClient calls f with a client of the primary of a shard, within the timeout of a member. It returns
// errors of f as a *MembersError.
func (m *MemberReader) withShardClient(
	ctx context.Context, id catalog.ShardID, f func(context.Context, *mongo.Client) error,
) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.shardClient(ctx, id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	if err := f(ctx, c.client); err != nil {
		return &MembersError{id, c.hosts, ServerError(err)}
	}
	return nil
}

// MergeActivities merges the work found by a read into earlier results, with the longest times and the largest
// numbers.
func MergeActivities(to, seen []Activity) []Activity {
	for _, b := range seen {
		i := slices.IndexFunc(to, b.sameWork)
		if i < 0 {
			to = append(to, b)
			continue
		}
		to[i].Elapsed, to[i].Count = max(to[i].Elapsed, b.Elapsed), max(to[i].Count, b.Count)
		to[i].Documents = max(to[i].Documents, b.Documents)
	}
	return to
}
