package mock_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/parameters"
	"shardsh/balancer/mongoerr"
)

// rules/02-examples-and-traps §10: names, defaults and bounds.
func TestParametersOfDefragmentationAndMigrations(t *testing.T) {
	for _, tt := range []struct {
		name    string
		value   any
		refused []any // values that do not fit
		fits    any
		atStart bool
	}{
		{"chunkDefragmentationThrottlingMS", int32(1000), []any{-1}, 0, false},
		{"autoMergerThrottlingMS", int32(15000), []any{-1}, 0, false},
		{"autoMergerIntervalSecs", int32(3600), nil, -1, false},
		{"autoMergerMaxTimeProcessingChunksMS", int32(500), nil, -1, false},
		{"balancerMigrationsThrottlingMs", int32(1000), nil, -1, false},
		{"minSnapshotHistoryWindowInSeconds", int32(300), []any{-1}, 0, false},
		{"transactionLifetimeLimitSeconds", int32(60), []any{0}, 1, false},
		{"defaultConfigCommandTimeoutMS", int32(30000), []any{-1}, 0, false},
		{"receiveChunkWaitForRangeDeleterTimeoutMS", int32(10000), []any{-1}, 0, false},
		{"migrationLockAcquisitionMaxWaitMS", int32(500), nil, 0, false},
		{"maxCatchUpPercentageBeforeBlockingWrites", int32(10), []any{-1, 101}, 100, false},
		{"migrateCloneInsertionBatchSize", int32(0), []any{-1}, 1, false},
		{"migrateCloneInsertionBatchDelayMS", int32(0), []any{-1}, 1, false},
		{"chunkMigrationConcurrency", int32(1), []any{0, 501}, 500, false},
		{"chunkMigrationFetcherMaxBufferedSizeBytesPerThread", int32(67174400), []any{1, 16793599}, 0, false},
		{"orphanCleanupDelaySecs", int32(900), nil, 0, false},
		{"rangeDeleterBatchSize", int32(2147483647), []any{-1}, 0, false},
		{"rangeDeleterBatchDelayMS", int32(20), []any{-1}, 0, false},
		{"disableResumableRangeDeleter", false, nil, true, true},
	} {
		p := parameters.New(catalog.Release80)
		value, runtime, known := p.Value(tt.name)
		if !known || value != tt.value || runtime == tt.atStart {
			t.Errorf("%s: %v, known %v, at run time %v; want %v", tt.name, value, known, runtime, tt.value)
			continue
		}
		for _, v := range tt.refused {
			if err := p.SetAtStart(tt.name, v); err == nil {
				t.Errorf("%s takes %v", tt.name, v)
			}
		}
		if err := p.SetAtStart(tt.name, tt.fits); err != nil {
			t.Errorf("%s refuses %v: %v", tt.name, tt.fits, err)
		}
	}
}

// Since 8.2 orphans stay for an hour.
func TestCleanupDelayOfReleases(t *testing.T) {
	for release, want := range map[catalog.Release]int32{
		catalog.Release44: 900, catalog.Release80: 900, catalog.Release81: 900, catalog.Release82: 3600, catalog.Release83: 3600,
		catalog.Release90: 3600, catalog.Release80.WithPatch(20): 900, catalog.Release82.WithPatch(6): 3600,
	} {
		m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}]}`, mock.Config{Release: release})
		if got, _, _ := m.cluster.Parameters().Value("orphanCleanupDelaySecs"); got != want {
			t.Errorf("%s: %v, want %d", release, got, want)
		}
	}
}

// rules/02-migration-and-metadata §5.10, row by row: the codes and their names.
func TestErrorCodesOfMigrations(t *testing.T) {
	for code, name := range map[mongoerr.Code]string{
		2: "BadValue", 9: "FailedToParse", 20: "IllegalOperation", 24: "LockTimeout", 26: "NamespaceNotFound",
		27: "IndexNotFound",
		46: "LockBusy", 64: "WriteConcernFailed", 70: "ShardNotFound", 72: "InvalidOptions", 77: "OperationIncomplete",
		87: "CannotSplit",
		90: "CallbackCanceled", 96: "OperationFailed", 100: "UnsatisfiableWriteConcern", 105: "IncompatibleShardingMetadata",
		117: "ConflictingOperationInProgress", 118: "NamespaceNotSharded", 125: "CommandFailed", 146: "ExceededMemoryLimit",
		150: "StaleEpoch", 153: "ChunkTooBig", 194: "BalancerInterrupted", 200: "ChunkRangeCleanupPending",
		207: "InvalidUUID",
		218: "UpdateOperationFailed", 228: "SessionTransferIncomplete", 242: "CannotCreateCollection",
		262: "ExceededTimeLimit",
		265: "OrphanedRangeCleanUpFailed", 313: "ResumableRangeDeleterDisabled", 349: "KeyPatternShorterThanBound",
		11601: "Interrupted", 11602: "InterruptedDueToReplStateChange", 13388: "StaleConfig",
		91331: "RetriableRemoteCommandFailure",
		16634: "Location16634", 16977: "Location16977", 31180: "Location31180", 31181: "Location31181",
		40165:   "Location40165",
		4683300: "Location4683300", 4914702: "Location4914702", 51260: "Location51260", 51261: "Location51261",
		51262: "Location51262",
		51263: "Location51263", 6049401: "Location6049401", 6049442: "Location6049442",
	} {
		if got := code.Name(); got != name {
			t.Errorf("code %d is %s, want %s", code, got, name)
		}
	}
}

// defragmented begins a defragmentation of twelve chunks; the balancer runs.
func defragmented(t *testing.T) (*model, undertaking) {
	t.Helper()
	m, u := manyChunks(t), undertakings()[0]
	u.begin(t, m)
	return m, u
}

// rules/02-defragmentation-and-merging §2.10: what a defragmentation does not look at, and what holds
// it up.
func TestDefragmentationAndOtherThings(t *testing.T) {
	t.Run("noBalance is ignored", func(t *testing.T) {
		m, u := defragmented(t)
		m.ok(t, "admin", d("configureCollectionBalancing", ns, "enableBalancing", false))
		if !m.await(t, u) {
			t.Fatal("it does not end")
		}
		u.check(t, m)
		if n := m.count(t, "changelog", d("what", "moveChunk.commit")); n == 0 {
			t.Error("nothing was moved")
		}
	})
	t.Run("while migrations are not allowed it goes round, and ends afterwards", func(t *testing.T) {
		m, u := defragmented(t)
		m.ok(t, "admin", d("setAllowMigrations", ns, "allowMigrations", false))
		m.sleep(10 * time.Minute)
		if m.has(u.ended) {
			t.Fatal("it has ended without a migration")
		}
		if n := m.count(t, "changelog", d("what", "moveChunk.commit")); n != 0 {
			t.Errorf("%d migrations", n)
		}
		m.ok(t, "admin", d("setAllowMigrations", ns, "allowMigrations", true))
		if !m.await(t, u) {
			t.Fatal("it does not end")
		}
		u.check(t, m)
	})
	t.Run("small chunks leave a draining shard, large ones stay until the end", func(t *testing.T) {
		m, u := manyChunks(t), undertakings()[0]
		for i := range 4 { // a chunk of five times the average
			m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", 100+i, "k", -i, "pad", make([]byte, 100_000))}))
		}
		u.begin(t, m)
		m.ok(t, "config", d("update", "shards", "updates",
			bson.A{d("q", d("_id", "shard0"), "u", d("$set", d("draining", true)))}))
		for range 10_000 {
			if m.has(u.ended) {
				break
			}
			m.nextEvent()
		}
		if n := m.count(t, "chunks", d("shard", "shard0")); n == 0 {
			t.Error("large chunks have left the shard meanwhile")
		}
		if n := m.count(t, "changelog", d("what", "moveChunk.commit", "details.to", "shard0")); n != 0 {
			t.Errorf("%d chunks came to the draining shard", n)
		}
		m.sleep(time.Hour)
		if n := m.count(t, "chunks", d("shard", "shard0")); n != 0 {
			t.Errorf("%d chunks are still on the shard", n)
		}
	})
	t.Run("zones of other names are not merged over", func(t *testing.T) {
		m := manyChunks(t)
		for i, zone := range []string{"low", "middle", "high"} {
			for _, shard := range []string{"shard0", "shard1", "shard2"} {
				m.ok(t, "admin", d("addShardToZone", shard, "zone", zone))
			}
			m.ok(t, "admin", d("updateZoneKeyRange", ns, "min", d("k", 4*i), "max", d("k", 4*i+4), "zone", zone))
		}
		u := undertakings()[0]
		u.begin(t, m)
		if !m.await(t, u) {
			t.Fatal("it does not end")
		}
		for _, border := range []int{4, 8} {
			if n := m.count(t, "chunks", d("min.k", d("$lt", border), "max.k", d("$gt", border))); n != 0 {
				t.Errorf("a chunk crosses the border at %d", border)
			}
		}
	})
	t.Run("a collection that is dropped leaves no state behind", func(t *testing.T) {
		for at := 0; at < 110; at += 10 {
			m, u := defragmented(t)
			for range at {
				m.nextEvent()
			}
			m.ok(t, "db", d("drop", "c"))
			m.ok(t, "admin", d("shardCollection", ns, "key", d("k", 1)))
			m.sleep(time.Minute)
			if !m.has(u.ended) {
				t.Errorf("dropped at event %d: the new collection is being defragmented", at)
			}
			reply := m.ok(t, "admin", d("balancerCollectionStatus", ns))
			if !reply.Lookup("details").IsZero() || !reply.Lookup("balancerCompliant").Boolean() {
				t.Errorf("dropped at event %d: %s", at, reply)
			}
			m.cluster.Close()
		}
	})
}
