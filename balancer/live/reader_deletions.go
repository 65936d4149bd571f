package live

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
)

// readDeletionsAndVersions reads the pending range deletions from the shards (rules/03-catalog-and-keys §3.14).
func (r *reading) readDeletionsAndVersions(ctx context.Context) error {
	if r.options.ShardClient == nil {
		return nil
	}
	r.parts.DeletionsKnown = true
	for i := range r.parts.Shards {
		s := &r.parts.Shards[i]
		err := r.readShardDeletions(ctx, s)
		if ctx.Err() != nil {
			return &ReadError{What: "rangeDeletions", Err: ctx.Err()}
		}
		if err != nil {
			// The shard can't be reached, but the cluster can.
			s.Unreachable = err.Error()
			r.parts.DeletionsKnown = false
			r.addGap(catalog.Gap{What: "rangeDeletions", Shard: s.ID}, err)
		}
	}
	r.readConfigVersion(ctx)
	return nil
}

// readConfigVersion reads the version of the config servers, which determines the rounds. After an
// error it stays unknown, without a gap, and the router's version is used.
func (r *reading) readConfigVersion(ctx context.Context) {
	for _, s := range r.parts.Shards {
		if s.ID == catalog.ConfigServerID {
			r.parts.ConfigVersion = s.Version
		}
	}
	if r.parts.ConfigVersion == "" {
		status, err := r.source.run(ctx, "admin", bson.D{{Key: "serverStatus", Value: 1}, {Key: "metrics", Value: 0}})
		host := text(status, "sharding", "configsvrConnectionString")
		if err != nil || host == "" {
			return
		}
		client, err := r.options.ShardClient(ctx, catalog.Shard{ID: catalog.ConfigServerID, Host: host})
		if err != nil {
			return
		}
		var is catalog.ShardState
		readShardDetails(ctx, client.Database("admin"), &is)
		r.parts.ConfigVersion = is.Version
	}
	r.useConfigRelease()
}

// useConfigRelease sets the Snapshot's release to that of the config servers, if it is known.
func (r *reading) useConfigRelease() {
	if release, known := catalog.ReleaseOf(r.parts.ConfigVersion); known {
		r.parts.Release = r.parts.Compatibility.Release(release)
		r.parts.Settings.Release = r.parts.Release
	}
}

// readShardDetails reads the version of a shard and its delay of range deletions. After an error they stay
// unknown, without a gap.
func readShardDetails(ctx context.Context, admin *mongo.Database, s *catalog.ShardState) {
	if info, err := admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Raw(); err == nil {
		s.Version = text(info, "version")
	}
	const delay = "orphanCleanupDelaySecs"
	reply, err := admin.RunCommand(ctx, bson.D{{Key: "getParameter", Value: 1}, {Key: delay, Value: 1}}).Raw()
	if err == nil {
		s.CleanupDelay = seconds(reply, delay)
	}
}

func (r *reading) readShardDeletions(ctx context.Context, s *catalog.ShardState) error {
	client, err := r.options.ShardClient(ctx, s.Shard)
	if err != nil {
		return err
	}
	readShardDetails(ctx, client.Database("admin"), s)
	cursor, err := client.Database("config").Collection("rangeDeletions").Find(ctx, bson.D{})
	if err != nil {
		return err
	}
	return eachInCursor(ctx, cursor, func(doc bson.Raw) error {
		doc = slices.Clone(doc)
		d := catalog.RangeDeletion{
			Shard: s.ID, Namespace: text(doc, "nss"), Min: document(doc, "range", "min"), Max: document(doc, "range", "max"),
			Delayed: text(doc, "whenToClean") == "delayed", Orphans: integer(doc, "numOrphanDocs"),
		}
		d.UUID.Subtype, d.UUID.Data, _ = doc.Lookup("collectionUuid").BinaryOK()
		d.Pending, _ = doc.Lookup("pending").BooleanOK()
		d.Processing, _ = doc.Lookup("processing").BooleanOK()
		d.Timestamp.T, d.Timestamp.I, _ = doc.Lookup("timestamp").TimestampOK()
		r.parts.Deletions = append(r.parts.Deletions, d)
		return nil
	})
}
