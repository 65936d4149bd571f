package mock

import (
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// From the feature compatibility version 9.0 on each shard keeps the metadata of what it
// owns. To set it copies them, collection by collection; splits, merges and moves that have
// begun end before, and new ones are refused until it is done (release notes of 9.0).

// upgrade is such a copy under way.
type upgrade struct {
	to    string
	least time.Time // when it ends, unless migrations take longer
}

// What a copy takes: no figures of real clusters are known.
const (
	upgradeTime     = 2 * time.Second
	upgradeEach     = 20 * time.Millisecond // of the databases and collections
	upgradeAgain    = 100 * time.Millisecond
	upgradeForChunk = 50 * time.Microsecond
)

// ChangeCompatibility is setFeatureCompatibilityVersion: it waits for the end of a change
// that takes time, also of one that is under way.
func (cp *ClusterParameters) ChangeCompatibility(ctx context.Context, deadline time.Time, version string) error {
	if err := cp.StartCompatibilityChange(version, 0); err != nil {
		return err
	}
	mine := cp.upgrade
	return cp.clock.Await(ctx, deadline, func() bool { return mine == nil || cp.upgrade != mine })
}

// StartCompatibilityChange begins a change that ends by itself, after d, or as long as it
// takes if d is zero. What needs no copy is done at once.
func (cp *ClusterParameters) StartCompatibilityChange(version string, d time.Duration) error {
	if cp.upgrade != nil && cp.upgrade.to == version {
		return nil
	}
	copies := version == catalog.Release90.String() && cp.compatibility() != version
	if !copies && d == 0 {
		return cp.SetCompatibilityVersion(version)
	}
	if err := cp.BeginCompatibilityChange(version); err != nil {
		return err
	}
	if d == 0 {
		d = cp.copyTime()
	}
	u := &upgrade{to: version, least: cp.clock.Now().Add(d)}
	cp.upgrade = u
	if copies {
		cp.reshardings.interrupt()
	}
	cp.clock.After(d, func() { cp.goOn(u) })
	return nil
}

// goOn ends a change, unless migrations are still to end.
func (cp *ClusterParameters) goOn(u *upgrade) {
	switch {
	case cp.upgrade != u: // somebody wants another version
	case len(cp.migrations.underWay) > 0 && chunkOperations(cp.config) != nil:
		cp.clock.After(upgradeAgain, func() { cp.goOn(u) })
	default:
		if err := cp.endCompatibilityChange(u.to); err != nil {
			cp.logger.Warn("feature compatibility version not written", "error", err)
		}
	}
}

func (cp *ClusterParameters) copyTime() time.Duration {
	d := upgradeTime + upgradeEach*time.Duration(cp.config.data("config."+configDatabases).Count())
	for ns := range cp.config.tables {
		d += upgradeEach + upgradeForChunk*time.Duration(cp.config.table(ns).Len())
	}
	return d
}

func (cp *ClusterParameters) compatibility() string {
	version, _ := cp.Compatibility().Lookup("version").StringValueOK()
	return version
}

// copying reports whether the metadata are being copied to the shards.
func (cfg *ConfigDB) copying() bool {
	if !cfg.installed.onConfigServers().Line().AtLeast(catalog.Release90) {
		return false
	}
	_, doc, found := cfg.data(compatibilityIn).ByID(textValue(compatibilityID))
	if !found {
		return false
	}
	version, _ := doc.Lookup("version").StringValueOK()
	target, _ := doc.Lookup("targetVersion").StringValueOK()
	return target == catalog.Release90.String() && version != target
}

// ownedByShards reports whether shards own the metadata of chunks.
func (cfg *ConfigDB) ownedByShards() bool {
	_, doc, found := cfg.data(compatibilityIn).ByID(textValue(compatibilityID))
	version, _ := doc.Lookup("version").StringValueOK()
	return found && cfg.installed.onConfigServers().WithFCV(version).ShardsOwnMetadata()
}

// ShowsSimpleCollation reports whether lists of indexes name the collation of those that have the
// simple one (SERVER-89953).
func (cfg *ConfigDB) ShowsSimpleCollation() bool { return cfg.ownedByShards() }

// chunkOperations returns why splits, merges and moves of chunks are refused.
func chunkOperations(cfg *ConfigDB) error {
	if !cfg.copying() {
		return nil
	}
	return errChunkOperation()
}

// awaitCopied waits until a collection may be resharded or moved.
func (rs *Reshardings) awaitCopied(ctx context.Context, deadline time.Time) error {
	if !rs.config.copying() {
		return nil
	}
	return rs.clock.Await(ctx, deadline, func() bool { return !rs.config.copying() })
}

// interrupt aborts the operations that have not been committed.
func (rs *Reshardings) interrupt() {
	for _, op := range rs.underWay {
		if op.state != reshardCommitting && op.aborted == nil {
			op.aborted = mongoerr.New(mongoerr.ReshardCollectionAborted,
				"interrupted due to a change of the feature compatibility version")
		}
	}
}
