package catalog

import (
	"cmp"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ChunkVersion is the M|m part of a version. Migrations increment the major number, splits and merges
// the minor number (rules/02-migration-and-metadata §6.3). 0|0 means that a shard owns no chunks.
type ChunkVersion struct{ Major, Minor uint32 }

// Compare orders by major, then minor number.
func (v ChunkVersion) Compare(o ChunkVersion) int {
	return cmp.Compare(uint64(v.Major)<<32|uint64(v.Minor), uint64(o.Major)<<32|uint64(o.Minor))
}

// IsZero reports whether this is 0|0.
func (v ChunkVersion) IsZero() bool { return v == ChunkVersion{} }

// String returns the version as "M|m".
func (v ChunkVersion) String() string { return fmt.Sprintf("%d|%d", v.Major, v.Minor) }

// Timestamp returns the version as stored in lastmod.
func (v ChunkVersion) Timestamp() bson.Timestamp { return bson.Timestamp{T: v.Major, I: v.Minor} }

// VersionFromTimestamp returns the version stored in lastmod.
func VersionFromTimestamp(ts bson.Timestamp) ChunkVersion { return ChunkVersion{ts.T, ts.I} }

// Version is a chunk version with the incarnation of its collection: epoch and timestamp change when a
// collection is created or resharded, or when its key is refined.
type Version struct {
	Epoch     bson.ObjectID
	Timestamp bson.Timestamp
	ChunkVersion
}

// Compare orders by timestamp, then major, then minor number (rules/02-migration-and-metadata §6.1).
func (v Version) Compare(o Version) int {
	return cmp.Or(v.Timestamp.Compare(o.Timestamp), v.ChunkVersion.Compare(o.ChunkVersion))
}

// String returns the version as "M|m||epoch||Timestamp(s, i)".
func (v Version) String() string {
	return fmt.Sprintf("%s||%s||Timestamp(%d, %d)", v.ChunkVersion, v.Epoch.Hex(), v.Timestamp.T, v.Timestamp.I)
}

// Doc returns the wire form {e, t, v} (rules/02-migration-and-metadata §6.1).
func (v Version) Doc() bson.D {
	return bson.D{{Key: "e", Value: v.Epoch}, {Key: "t", Value: v.Timestamp},
		{Key: "v", Value: v.ChunkVersion.Timestamp()}}
}
