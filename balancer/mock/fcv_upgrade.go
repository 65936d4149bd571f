package mock

import (
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Since feature compatibility version 9.0 each shard stores the metadata of its chunks. The upgrade
// copies the metadata collection by collection. Running splits, merges and migrations end first, and new
// ones are rejected until the copy is complete (release notes of 9.0).

// fcvChange is a change of the FCV in progress, which copies metadata to the shards.
type fcvChange struct{ to string }

// Durations of a copy. They are estimates, not measurements.
const (
	upgradeTime         = 2 * time.Second
	upgradePerNamespace = 20 * time.Millisecond // for each database and collection
	upgradeRetry        = 100 * time.Millisecond
	upgradePerChunk     = 50 * time.Microsecond
)

// ChangeFCV implements setFeatureCompatibilityVersion. If the change takes time, or the same change is
// in progress, it waits for the end.
func (cp *ClusterParameters) ChangeFCV(ctx context.Context, deadline time.Time, version string) error {
	if err := cp.StartFCVChange(version, 0); err != nil {
		return err
	}
	mine := cp.fcvChange
	return cp.clock.Await(ctx, deadline, func() bool { return mine == nil || cp.fcvChange != mine })
}

// StartFCVChange starts a change that completes by itself after d, or after the estimated duration if d
// is zero. A change without a copy is complete at once.
func (cp *ClusterParameters) StartFCVChange(version string, d time.Duration) error {
	if cp.fcvChange != nil && cp.fcvChange.to == version {
		return nil
	}
	copies := version == catalog.Release90.String() && cp.fcv() != version
	if !copies && d == 0 {
		return cp.SetFCV(version)
	}
	if err := cp.SetTransitionalFCV(version); err != nil {
		return err
	}
	if d == 0 {
		d = cp.metadataCopyTime()
	}
	u := &fcvChange{to: version}
	cp.fcvChange = u
	if copies {
		cp.reshardings.abortUncommitted()
	}
	cp.clock.After(d, func() { cp.finishAfterMigrations(u) })
	return nil
}

// finishAfterMigrations completes a change unless migrations are still running.
func (cp *ClusterParameters) finishAfterMigrations(u *fcvChange) {
	switch {
	case cp.fcvChange != u: // replaced by another change
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
		d += upgradePerNamespace + upgradePerChunk*time.Duration(cp.config.Table(ns).Len())
	}
	return d
}

func (cp *ClusterParameters) fcv() string { return cp.config.fcv.version() }

// isCopyingMetadata reports whether metadata is being copied to the shards.
func (c *ConfigDB) isCopyingMetadata() bool {
	if !c.installed.configRelease().Line().FCVAtLeast(catalog.Release90) {
		return false
	}
	target := c.fcv.target()
	return target == catalog.Release90.String() && c.fcv.version() != target
}

// shardsOwnMetadata reports whether shards store the metadata of their chunks.
func (c *ConfigDB) shardsOwnMetadata() bool {
	version := c.fcv.version()
	return version != "" && c.installed.configRelease().WithFCV(version).ShardsOwnMetadata()
}

// ShowsSimpleCollation reports whether listIndexes includes the simple collation (SERVER-89953).
func (c *ConfigDB) ShowsSimpleCollation() bool { return c.shardsOwnMetadata() }

// checkChunkOperations returns the error if splits, merges and migrations are currently rejected.
func checkChunkOperations(cfg *ConfigDB) error {
	if !cfg.isCopyingMetadata() {
		return nil
	}
	return errChunkOperationsForbidden()
}

// awaitMetadataCopy waits until collections may be resharded or moved.
func (rs *Reshardings) awaitMetadataCopy(ctx context.Context, deadline time.Time) error {
	if !rs.config.isCopyingMetadata() {
		return nil
	}
	return rs.clock.Await(ctx, deadline, func() bool { return !rs.config.isCopyingMetadata() })
}

// abortUncommitted aborts the operations that are not committed.
func (rs *Reshardings) abortUncommitted() {
	for _, op := range rs.active {
		if op.state != reshardCommitting && op.abortReason == nil {
			op.abortReason = mongoerr.New(mongoerr.ReshardCollectionAborted,
				"interrupted due to a change of the feature compatibility version")
		}
	}
}
