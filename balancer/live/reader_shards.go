package live

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/mongoerr"
)

func (r *reading) readShards(ctx context.Context) error {
	docs, err := r.source.list(ctx, findQuery("shards", bson.D{}))
	r.retainDocuments("shards", docs)
	for _, doc := range docs {
		shard, err := catalog.ParseShard(doc)
		if err != nil {
			r.addGap(catalog.Gap{What: "shards"}, err)
			shard = catalog.Shard{
				ID: catalog.ShardID(text(doc, "_id")), Host: text(doc, "host"),
				Draining: catalog.IsTruthyInJS(doc.Lookup("draining")), Zones: texts(doc, "tags"),
			}
		}
		if shard.ID != "" {
			r.parts.Shards = append(r.parts.Shards, catalog.ShardState{Shard: shard})
		}
	}
	return err
}

// readShardSizes computes the size of the databases on each shard, for the maxSize of shards in
// releases up to 5.0 (rules/01-rounds-and-settings §3.1).
func (r *reading) readShardSizes(ctx context.Context) error {
	limited := func(s catalog.ShardState) bool { return s.MaxSizeMB > 0 }
	if !r.parts.Release.HasMaxShardSize() || !slices.ContainsFunc(r.parts.Shards, limited) {
		return nil
	}
	bytes, err := readBytesByShard(ctx, r.askShards)
	for i := range r.parts.Shards {
		s := &r.parts.Shards[i].Shard
		s.SizeMB = bytes[s.ID] >> 20
	}
	return err
}

// readBytesByShard returns the size of all databases on each shard.
func readBytesByShard(
	ctx context.Context, run func(ctx context.Context, database string, command bson.D) (bson.Raw, error),
) (map[catalog.ShardID]int64, error) {
	reply, err := run(ctx, "admin", bson.D{{Key: "listDatabases", Value: int32(1)}})
	if err != nil {
		return nil, err
	}
	databases, ok := reply.Lookup("databases").ArrayOK()
	if !ok {
		return nil, mongoerr.New(mongoerr.NoSuchKey, "listDatabases returned no databases")
	}
	list, err := databases.Values()
	if err != nil {
		return nil, err
	}
	bytes := map[catalog.ShardID]int64{}
	for _, v := range list {
		shards := document(v.Value, "shards")
		elements, err := shards.Elements()
		if err != nil {
			continue
		}
		for _, e := range elements {
			bytes[catalog.ShardID(e.Key())] += integer(shards, e.Key())
		}
	}
	return bytes, nil
}

// readDrains reads the state of the draining shards, or of the one wanted shard. Before 8.3 no command
// reads the state without changing it.
func (r *reading) readDrains(ctx context.Context) error {
	if !r.parts.Release.HasDrainCommands() {
		return nil
	}
	for i := range r.parts.Shards {
		s := &r.parts.Shards[i]
		if only := r.options.Shard; only == "" && !s.Draining || only != "" && only != s.ID {
			continue
		}
		reply, err := r.askShards(ctx, "admin", DrainStatusCommand(s.ID))
		switch {
		case err == nil:
			s.ReportedDrain = parseDrain(reply)
		case mongoerr.Is(ServerError(err), mongoerr.CommandNotFound):
			return nil // an older router, during an upgrade
		case IsNotDraining(err):
			s.Draining, err = false, nil // it is not draining any more, although config.shards said so before
		}
		if err := r.gapOrError(ctx, Drains, catalog.Gap{What: "draining", Shard: s.ID}, err); err != nil {
			return err
		}
	}
	return nil
}

func parseDrain(reply bson.Raw) *catalog.ReportedDrain {
	r := &catalog.ReportedDrain{
		State: text(reply, "state"), Chunks: -1,
		Databases: texts(reply, "dbsToMove"), Collections: texts(reply, "collectionsToMove"),
	}
	if remaining, ok := reply.Lookup("remaining").DocumentOK(); ok {
		r.Chunks, r.Jumbo = integer(remaining, "chunks"), integer(remaining, "jumboChunks")
	} else if r.State == string(diagnosis.DrainFinished) {
		r.Chunks = 0 // the server omits the remaining counts
	}
	return r
}

// readReachability reads which shards the mongos can reach, with their ping times.
func (r *reading) readReachability(ctx context.Context) error {
	reply, err := r.source.run(ctx, "admin", bson.D{{Key: "connPoolStats", Value: int32(1)}})
	if err != nil {
		return err
	}
	r.reachabilityKnown = true
	for i := range r.parts.Shards {
		s := &r.parts.Shards[i]
		s.Unreachable, s.Ping = parseReachability(reply, s.Host)
		if s.Unreachable != "" {
			r.shardTimeouts.recordShardDown()
		}
	}
	return nil
}

// parseReachability returns the reason why a mongos can't reach a shard, from its connPoolStats.
// problem is empty if the mongos can reach the shard, or if it has not tried: a mongos monitors only
// replica sets that it has used.
func parseReachability(stats bson.Raw, host string) (problem string, ping time.Duration) {
	set, _, named := strings.Cut(host, "/")
	members, ok := stats.Lookup("replicaSets", set, "hosts").ArrayOK()
	values, err := members.Values()
	if !named || !ok || err != nil || len(values) == 0 {
		return "", 0
	}
	answering := 0
	for _, v := range values {
		member, _ := v.DocumentOK()
		if !catalog.IsTruthyInJS(member.Lookup("ok")) {
			continue
		}
		if answering++; catalog.IsTruthyInJS(member.Lookup("ismaster")) {
			return "", time.Duration(integer(member, "pingTimeMillis")) * time.Millisecond
		}
	}
	if answering > 0 {
		return "its replica set " + set + " has no primary", 0
	}
	return "the router gets no answer from any member of its replica set " + set, 0
}
