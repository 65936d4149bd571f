package mock

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Balancer is the cluster's balancer: its engine, the driver of the engine, and the commands scheduler,
// which sends the balancer's commands to shards.
type Balancer struct {
	*clusterSettings
	background  *sync.WaitGroup
	chunks      *Chunks
	clock       *clock.Clock
	config      *ConfigDB
	zones       *Zones
	ctx         context.Context
	faults      *Faults
	log         *configLogs
	machineIDs  *MachineIDs
	migrations  *Migrations
	reshardings *Reshardings
	seed        uint64
	shards      shardSet
	stats       *Statistics
	term        int64

	loop           *balancer.Loop
	driver         *balancer.EventDriver // on virtual time
	goroutine      *loopGoroutine        // on real time
	scheduler      schedulerState
	runningActions []*balancerAction // of all terms
	// zoneScanFailed reports whether the last scan of the zones failed.
	zoneScanFailed bool
}

// Balancer returns the cluster's balancer.
func (c *Cluster) Balancer() *Balancer { return c.balancer }

// IsRunning reports whether the balancer is running. It is running during and between rounds, but not while
// the config server is down.
func (b *Balancer) IsRunning() bool { return b.scheduler != schedulerStopped }

// RefreshSettings reads config.settings for the engine and the status commands. If it fails, the valid
// settings take effect nevertheless.
func (b *Balancer) RefreshSettings() (catalog.Settings, error) {
	settings, err := balancer.LoadSettings(context.Background(), engineCluster{b: b}, b.loop.Settings())
	b.loop.SetSettings(settings)
	return settings, err
}

// Start turns on balancing and auto-merging (rules/03-commands §1.2).
func (b *Balancer) Start() error {
	if err := b.setMode("full", false); err != nil {
		return err
	}
	b.log.WriteAction("balancer.start", nil)
	return nil
}

// Stop turns off balancing and auto-merging. It waits until the current round has ended or the deadline
// has passed.
func (b *Balancer) Stop(ctx context.Context, deadline time.Time) error {
	if err := b.setMode("off", true); err != nil {
		return err
	}
	was := b.loop.Status()
	err := b.clock.Await(ctx, deadline, func() bool {
		now := b.loop.Status()
		ended := !was.InRound || !now.InRound || now.Rounds != was.Rounds
		return ended && (b.scheduler != schedulerRecovering || !b.bugs.FixBalancerStop)
	})
	if err != nil {
		return err
	}
	b.log.WriteAction("balancer.stop", nil)
	return nil
}

func (b *Balancer) setMode(mode string, stopped bool) error {
	err := b.config.setSetting("balancer", bson.D{{Key: "mode", Value: mode}, {Key: "stopped", Value: stopped}})
	if err != nil {
		return err
	}
	// The auto-splitter of older releases is switched together with the balancer, as the auto-merger is
	// since.
	for id, exists := range map[string]bool{"automerge": b.release.AutoMerges(), "autosplit": b.release.AutoSplits()} {
		if !exists {
			continue
		}
		if err := b.config.setSetting(id, bson.D{{Key: "enabled", Value: !stopped}}); err != nil {
			return err
		}
	}
	_, err = b.RefreshSettings()
	b.loop.HandleSettingsChange(context.Background(), engineCluster{b: b}, b.clock.Now())
	return err
}

// Compliance implements balancerCollectionStatus (rules/01-selection §7): what the balancer would do to
// the collection now if every shard were available.
func (b *Balancer) Compliance(rq *Request, ns string) (policy.Compliance, error) {
	if _, _, err := catalog.SplitNamespace(ns); err != nil {
		return policy.Compliance{}, err
	}
	coll, ok, err := b.config.TrackedEntry(ns)
	if err != nil {
		return policy.Compliance{}, err
	}
	if !ok || coll.Unsplittable {
		return policy.Compliance{}, mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	}
	settings, err := b.RefreshSettings()
	if err != nil {
		return policy.Compliance{}, err
	}
	routing, err := engineCluster{b: b}.Routing(context.Background(), ns)
	if err != nil {
		return policy.Compliance{}, err
	}
	shards, err := b.config.Shards()
	if err != nil {
		return policy.Compliance{}, err
	}
	if !b.release.BalancesBySize() {
		b.stats.fillShardSizes(shards)
		return policy.StatusByCount(policy.CountSituation{
			Situation: balancer.NewSituation(routing, nil, shards, settings), Rules: policy.RulesOf(b.release),
		})
	}
	situation, defragmentation := balancer.NewSituation(routing, nil, shards, settings), b.loop.Defragmentation(coll)
	if status, settled := policy.StatusWithoutSizes(situation, defragmentation); settled {
		return status, nil
	}
	if err := rq.ContactShardsFromConfig(); err != nil {
		return policy.Compliance{}, err
	}
	situation.Sizes.ByShard = b.stats.ownedBytes(coll, nil)
	return policy.CollectionStatus(situation, defragmentation)
}

// MaxChunkSizeBytes returns the effective chunk size of a collection. It reads the global chunk size,
// which may have changed since the last round.
func (b *Balancer) MaxChunkSizeBytes(coll catalog.Collection) int64 {
	settings, err := b.RefreshSettings()
	if err != nil {
		b.logger.Warn("settings are invalid, the last valid ones are used", "error", err)
	}
	return coll.ChunkSize(settings)
}

// BalancingChange are the options of configureCollectionBalancing; nil fields stay unchanged.
type BalancingChange struct {
	// ChunkSizeMB of 0 restores the global chunk size.
	ChunkSizeMB *int64
	Defragment  *bool
	AutoMerge   *bool
	Balance     *bool
}

// Configure changes the balancing options of a collection (rules/03-commands §1.2).
func (b *Balancer) Configure(ns string, change BalancingChange) error {
	if !b.config.isTracked(ns) {
		if change.Defragment != nil && !*change.Defragment {
			return mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
		}
		return mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	}
	if change.Defragment != nil && !*change.Defragment {
		if err := b.abortDefragmentation(ns); err != nil {
			return err
		}
	}
	details := bson.D{}
	_, err := b.config.modify(configCollections, ns, func(doc *bson.D) {
		if change.ChunkSizeMB != nil {
			details = append(details, bson.E{Key: "chunkSizeMB", Value: int32(*change.ChunkSizeMB)})
			if *change.ChunkSizeMB == 0 {
				unsetDocField(doc, "maxChunkSizeBytes")
				if ns == policy.SessionsNamespace {
					setDocField(doc, "maxChunkSizeBytes", int64(sessionsChunkBytes))
				}
			} else {
				setDocField(doc, "maxChunkSizeBytes", *change.ChunkSizeMB<<20)
			}
		}
		if change.Defragment != nil {
			details = append(details, bson.E{Key: "defragmentCollection", Value: *change.Defragment})
		}
		if change.Defragment != nil && *change.Defragment {
			setDocField(doc, "defragmentCollection", true)
		}
		if change.AutoMerge != nil {
			setDocField(doc, "enableAutoMerge", *change.AutoMerge)
		}
		if change.Balance != nil {
			setDocField(doc, "noBalance", !*change.Balance)
		}
	})
	if err != nil {
		return err
	}
	b.log.writeChange(configShard, "configureCollectionBalancing", ns, details)
	if change.onlyAbortsDefragmentation() {
		return nil
	}
	if err := b.config.BumpVersion(ns); err != nil {
		return err
	}
	b.loop.HandleSettingsChange(context.Background(), engineCluster{b: b}, b.clock.Now())
	return nil
}

// onlyAbortsDefragmentation reports whether the change only aborts a defragmentation, which does not affect the
// routers' metadata.
func (b BalancingChange) onlyAbortsDefragmentation() bool {
	return b.Defragment != nil && !*b.Defragment && b.ChunkSizeMB == nil && b.AutoMerge == nil && b.Balance == nil
}

// abortDefragmentation ends a defragmentation in progress. It does nothing if there is none
// (rules/02-defragmentation-and-merging §2.9).
func (b *Balancer) abortDefragmentation(ns string) error {
	coll, ok, err := b.config.TrackedEntry(ns)
	if err != nil || !ok || !coll.Defragment {
		return err
	}
	b.loop.AbortDefragmentation(coll.UUID)
	_, err = b.config.modify(configCollections, ns, func(doc *bson.D) {
		setDocField(doc, "defragmentationPhase", string(policy.PhaseFinished))
	})
	return err
}

// PermitMigrations implements setAllowMigrations (rules/03-commands §1.2).
func (b *Balancer) PermitMigrations(ns string, permit bool) error {
	found, err := b.config.modify(configCollections, ns, func(doc *bson.D) {
		if permit {
			unsetDocField(doc, "permitMigrations")
		} else {
			setDocField(doc, "permitMigrations", false)
		}
	})
	if err != nil {
		return err
	}
	if !found {
		return mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	}
	if table := b.config.Table(ns); !permit {
		b.migrations.abort(ns)
		b.config.migrationsForbiddenSince[ns] = table.Version()
	}
	b.log.writeChange(configShard, "setPermitMigrations", ns, bson.D{{Key: "permitMigrations", Value: permit}})
	return nil
}
