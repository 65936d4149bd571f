package live

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
)

// VolumesCommand returns the command with which a mongos asks all shards for their volumes. Each shard
// has the database admin; for a database that a shard does not have, it returns zeros (recording
// 20-live, dbStats of "other").
func VolumesCommand() (database string, command bson.D) {
	return "admin", bson.D{{Key: "dbStats", Value: int32(1)}}
}

// readDisks reads the volumes of the shards.
func (r *reading) readDisks(ctx context.Context) error {
	if r.unreachableText() != "" { // the mongos would wait for the shard
		return &ShardTimeoutError{Why: r.unreachableText()}
	}
	database, command := VolumesCommand()
	reply, err := r.askShards(ctx, database, command)
	if err != nil {
		return err
	}
	known := 0
	for i := range r.parts.Shards {
		s := &r.parts.Shards[i]
		if s.Disk = ParseVolume(reply, s.Host); s.Disk.Known() {
			known++
		}
	}
	if known == 0 && len(r.parts.Shards) > 0 {
		return mongoerr.New(mongoerr.NoSuchKey, "dbStats has no fsTotalSize (it is for the storage engine wiredTiger)")
	}
	return nil
}

// ParseVolume returns the volume of the shard with a host from the reply of VolumesCommand; the zero
// Disk if the reply does not contain it.
func ParseVolume(reply bson.Raw, host string) catalog.Disk {
	return parseVolume(shardReply(reply, host))
}

// parseVolume returns the volume in the reply of a member.
func parseVolume(own bson.Raw) catalog.Disk {
	d := catalog.Disk{Total: integer(own, "fsTotalSize"), Used: integer(own, "fsUsedSize")}
	if d.Total <= 0 || d.Used < 0 || d.Used > d.Total { // -1: the file system does not report it
		return catalog.Disk{}
	}
	return d
}

// shardReply returns the reply of a shard from the reply of a mongos to a command that it has sent to
// all shards. The key is the connection string as known by the mongos, whose members may differ from
// those in config.shards.
func shardReply(reply bson.Raw, host string) bson.Raw {
	raw := document(reply, "raw")
	if own := document(raw, host); own != nil {
		return own
	}
	set, _, named := strings.Cut(host, "/")
	elements, _ := raw.Elements()
	for _, e := range elements {
		if of, _, _ := strings.Cut(e.Key(), "/"); named && of == set {
			own, _ := e.Value().DocumentOK()
			return own
		}
	}
	return nil
}

// maxReusableSpaceReads is the maximum number of collections whose reusable space is read. For other
// collections it counts as 0.
const maxReusableSpaceReads = 100

// readReusableSpace reads the size and the reusable space of the files of the sharded collections.
func (r *reading) readReusableSpace(ctx context.Context) error {
	var list []*catalog.CollectionState
	for _, c := range r.parts.Collections {
		if !c.Unsplittable && len(list) < maxReusableSpaceReads {
			list = append(list, c)
		}
	}
	down := r.unreachableShards()
	return inParallel(ctx, r.options.Parallel, list, func(ctx context.Context, c *catalog.CollectionState) error {
		gap := catalog.Gap{What: "reusable storage", Namespace: c.Namespace}
		if slices.ContainsFunc(c.Owners(), func(id catalog.ShardID) bool { return down[id] }) {
			return r.gapOrError(ctx, ReusableSpace, gap, &ShardTimeoutError{Why: r.unreachableText()})
		}
		return r.gapOrError(ctx, ReusableSpace, gap, r.readCollectionReusableSpace(ctx, c))
	})
}

// readCollectionReusableSpace reads the size and the reusable space of the files of one collection.
func (r *reading) readCollectionReusableSpace(ctx context.Context, c *catalog.CollectionState) error {
	db, name, err := catalog.SplitNamespace(c.Namespace)
	if err != nil {
		return err
	}
	docs, err := r.listFromShards(ctx, firstShardTimeout, reusableQuery(db, name))
	if err != nil {
		return err
	}
	for _, doc := range docs {
		id := catalog.ShardID(text(doc, "shard"))
		if data, known := c.Sizes[id]; known {
			data.ReusableBytes = parseReusable(doc)
			data.StoredBytes, data.IndexBytes = integer(doc, "storageStats", "storageSize"),
				integer(doc, "storageStats", "totalIndexSize")
			c.Sizes[id] = data
		}
	}
	return nil
}

// parseReusable returns the reusable space of a shard's file. 4.4 reports it in the statistics of the
// storage engine.
func parseReusable(doc bson.Raw) int64 {
	return max(0, integer(doc, "storageStats", "freeStorageSize"),
		integer(doc, "storageStats", "wiredTiger", "block-manager", "file bytes available for reuse"))
}

// reusableQuery returns the query for the file sizes of a collection on the shards with its chunks.
func reusableQuery(db, name string) query {
	return query{database: db, collection: name, pipeline: []bson.D{
		{{Key: "$collStats", Value: bson.D{{Key: "storageStats", Value: bson.D{}}}}},
		{{Key: "$project", Value: bson.D{{Key: "shard", Value: 1}, {Key: "storageStats.freeStorageSize", Value: 1},
			{Key: "storageStats.storageSize", Value: 1}, {Key: "storageStats.totalIndexSize", Value: 1},
			{Key: "storageStats.wiredTiger.block-manager.file bytes available for reuse", Value: 1}}}},
	}}
}

// VolumeReader reads the free space of the shards' volumes below a limit, and the files of some
// collections.
type VolumeReader struct {
	commands CommandRunner
	limit    float64
}

// NewVolumeReader returns a VolumeReader with a limit, which is a fraction of each volume.
func NewVolumeReader(commands CommandRunner, limit float64) *VolumeReader {
	return &VolumeReader{commands, limit}
}

// volumesTimeout is the maximum wait for shards that do not answer.
const volumesTimeout = 5 * time.Second

// ReadRoom reads the free space of a move's recipient.
func (v *VolumeReader) ReadRoom(ctx context.Context, m pace.Move) (pace.VolumeRoom, error) {
	s, err := v.Read(ctx, []string{m.Namespace})
	if err != nil {
		return pace.VolumeRoom{}, err
	}
	volumes := catalog.NewVolumes(s, v.limit)
	room := pace.VolumeRoom{Shortfall: func(bytes int64) int64 { return volumes.MissingBytes(m.Namespace, m.To, bytes) }}
	c := s.Collection(m.Namespace)
	if c == nil {
		return room, nil
	}
	room.OrphanDocs = c.Sizes[m.To].Orphans
	if !m.WholeRange || m.Max.IsZero() {
		return room, nil
	}
	db, _, err := catalog.SplitNamespace(m.Namespace)
	if err != nil {
		return room, err
	}
	reply, err := v.commands.RunCommand(ctx, db, dataSizeCommand(m.Namespace, c.Pattern, m.Min, m.Max))
	if err == nil { // otherwise the expected size is used
		room.DonorRangeBytes = integer(reply, "size")
	}
	return room, nil
}

// Read reads the volumes, and the files of some collections.
func (v *VolumeReader) Read(ctx context.Context, namespaces []string) (*catalog.Snapshot, error) {
	if len(namespaces) == 0 {
		return NewCommandReader(v.commands, ReaderOptions{
			Parts: Shards | Disks, Required: Shards | Disks, MaxShardWait: volumesTimeout,
		}).Read(ctx)
	}
	return NewCommandReader(v.commands, ReaderOptions{
		Parts: Shards | Disks | Collections | Sizes | LegacySizes | ReusableSpace, Required: Shards | Disks | Collections |
			Sizes,
		// With a release before 6.0, the Reader does not compute the sizes of all collections to get
		// those of a few.
		Namespaces: namespaces, Release: catalog.Release50, MaxShardWait: volumesTimeout,
	}).Read(ctx)
}
