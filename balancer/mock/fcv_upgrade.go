package mock

import (
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// From the feature compatibility version 9.0 on each shard keeps the metadata of what it
// owns. The upgrade copies it, collection by collection; running splits, merges and moves
// end first, and new ones are rejected until it is complete (release notes of 9.0).

// upgrade is a running copy of metadata to the shards.
type upgrade struct {
	to     string
	minEnd time.Time // earliest end: it also waits for migrations
}

// Durations of a copy; they are guesses, not measurements.
const (
	upgradeTime         = 2 * time.Second
	upgradePerNamespace = 20 * time.Millisecond // of the databases and collections
	upgradeRetry        = 100 * time.Millisecond
	upgradePerChunk     = 50 * time.Microsecond
)

// ChangeFCV is setFeatureCompatibilityVersion: it waits for the end of a change
// that takes time, also of one that is under way.
func (cp *ClusterParameters) ChangeFCV(ctx context.Context, deadline time.Time, version string) error {
	if err := cp.StartFCVChange(version, 0); err != nil {
		return err
	}
	mine := cp.upgrade
	return cp.clock.Await(ctx, deadline, func() bool { return mine == nil || cp.upgrade != mine })
}

// StartFCVChange begins a change that ends by itself, after d, or as long as it
// takes if d is zero. What needs no copy is done at once.
func (cp *ClusterParameters) StartFCVChange(version string, d time.Duration) error {
	if cp.upgrade != nil && cp.upgrade.to == version {
		return nil
	}
	copies := version == catalog.Release90.String() && cp.fcv() != version
	if !copies && d == 0 {
		return cp.SetFCV(version)
	}
	if err := cp.BeginFCVChange(version); err != nil {
		return err
	}
	if d == 0 {
		d = cp.metadataCopyTime()
	}
	u := &upgrade{to: version, minEnd: cp.clock.Now().Add(d)}
	cp.upgrade = u
	if copies {
		cp.reshardings.abortUncommitted()
	}
	cp.clock.After(d, func() { cp.finishAfterMigrations(u) })
	return nil
}

// finishAfterMigrations ends a change, unless migrations are still to end.
func (cp *ClusterParameters) finishAfterMigrations(u *upgrade) {
	switch {
	case cp.upgrade != u: // somebody wants another version
	case len(cp.migrations.active) > 0 && checkChunkOperations(cp.config) != nil:
		cp.clock.After(upgradeRetry, func() { cp.finishAfterMigrations(u) })
	default:
		if err := cp.finishFCVChange(u.to); err != nil {
			cp.logger.Warn("feature compatibility version not written", "error", err)
		}
	}
}

func (cp *ClusterParameters) metadataCopyTime() time.Duration {
	d := upgradeTime + upgradePerNamespace*time.Duration(cp.config.ensureCollection("config."+configDatabases).Count())
	for ns := range cp.config.tables {
		d += upgradePerNamespace + upgradePerChunk*time.Duration(cp.config.table(ns).Len())
	}
	return d
}

func (cp *ClusterParameters) fcv() string { return cp.config.storedFCV() }

// isCopyingMetadata reports whether the metadata are being copied to the shards.
func (cfg *ConfigDB) isCopyingMetadata() bool {
	if !cfg.installed.configRelease().Line().AtLeast(catalog.Release90) {
		return false
	}
	_, doc, found := cfg.ensureCollection(fcvNamespace).FindByID(textValue(fcvID))
	if !found {
		return false
	}
	version, _ := doc.Lookup("version").StringValueOK()
	target, _ := doc.Lookup("targetVersion").StringValueOK()
	return target == catalog.Release90.String() && version != target
}

// shardsOwnMetadata reports whether shards own the metadata of chunks.
func (cfg *ConfigDB) shardsOwnMetadata() bool {
	_, doc, found := cfg.ensureCollection(fcvNamespace).FindByID(textValue(fcvID))
	version, _ := doc.Lookup("version").StringValueOK()
	return found && cfg.installed.configRelease().WithFCV(version).ShardsOwnMetadata()
}

// ShowsSimpleCollation reports whether lists of indexes name the collation of those that have the
// simple one (SERVER-89953).
func (cfg *ConfigDB) ShowsSimpleCollation() bool { return cfg.shardsOwnMetadata() }

// checkChunkOperations returns why splits, merges and moves of chunks are refused.
func checkChunkOperations(cfg *ConfigDB) error {
	if !cfg.isCopyingMetadata() {
		return nil
	}
	return errChunkOperation()
}

// awaitMetadataCopy waits until a collection may be resharded or moved.
func (rs *Reshardings) awaitMetadataCopy(ctx context.Context, deadline time.Time) error {
	if !rs.config.isCopyingMetadata() {
		return nil
	}
	return rs.clock.Await(ctx, deadline, func() bool { return !rs.config.isCopyingMetadata() })
}

// abortUncommitted aborts the operations that have not been committed.
func (rs *Reshardings) abortUncommitted() {
	for _, op := range rs.active {
		if op.state != reshardCommitting && op.aborted == nil {
			op.aborted = mongoerr.New(mongoerr.ReshardCollectionAborted,
				"interrupted due to a change of the feature compatibility version")
		}
	}
}
