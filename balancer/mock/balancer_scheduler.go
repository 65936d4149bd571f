package mock

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// The commands scheduler of the config server sends each command to one shard and waits indefinitely for
// the reply. It does not serialize commands, does not retry and has no timeout
// (rules/02-defragmentation-and-merging §4.1).

// schedulerState is the state of the scheduler (rules/02-defragmentation-and-merging §4.5).
type schedulerState uint8

const (
	// schedulerStopped: the config server is down; commands fail.
	schedulerStopped schedulerState = iota
	// schedulerRecovering: migrations of the previous term are still running; commands wait.
	schedulerRecovering
	schedulerRunning
)

// The commands that the balancer sends to shards.
const (
	cmdMoveRange       = "_shardsvrMoveRange"
	cmdMergeAllChunks  = "_shardsvrMergeAllChunksOnShard"
	cmdMergeChunks     = "mergeChunks"
	cmdDataSize        = "dataSize"
	cmdSplitChunk      = "splitChunk"
	cmdAutoSplitVector = "autoSplitVector"
)

// cmdCommitMigration is the commit command that a donor sends to the config server.
const cmdCommitMigration = "_configsvrCommitChunkMigration"

// IsInterNodeCommand reports whether the balancer or a shard sends the command to another node. Failures
// can be injected for such commands.
func IsInterNodeCommand(name string) bool {
	return slices.Contains(
		[]string{cmdMoveRange, cmdMergeAllChunks, cmdMergeChunks, cmdDataSize, cmdSplitChunk, cmdAutoSplitVector,
			cmdCommitMigration},
		name,
	)
}

// send sends a command of the balancer to a shard. It fails with ShardNotFound for an unknown shard,
// with a network error, or with an injected failure.
func (b *Balancer) send(to catalog.ShardID, name string, document func() bson.D) error {
	if b.shards[to] == nil {
		return mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", to)
	}
	if err := b.faults.checkReachable(configShard, to); err != nil {
		return err
	}
	switch f := b.faults.takeCommandFailure(name, to); {
	case f == nil || f.WriteConcernError != nil: // the command was executed
	case f.CloseConnection:
		return b.faults.connectionLostError(to)
	default:
		return f.Err()
	}
	if b.logger.Enabled(context.Background(), slog.LevelDebug) {
		text, err := bson.MarshalExtJSON(document(), false, false)
		b.logger.Debug("the balancer sends a command", "shard", to, "command", string(text), "error", err)
	}
	return nil
}

func (fs *Faults) connectionLostError(to catalog.ShardID) error {
	return mongoerr.New(mongoerr.HostUnreachable,
		"Error connecting to %s :: caused by :: Connection reset by peer", cmp.Or(fs.addresses.HostOf(to), string(to)))
}

// sendMove sends a migration request to a donor.
func (b *Balancer) sendMove(req MoveRequest) error {
	return b.send(req.From, cmdMoveRange, func() bson.D {
		coll, _, err := b.config.TrackedEntry(req.Namespace)
		if err != nil {
			return bson.D{{Key: cmdMoveRange, Value: req.Namespace}}
		}
		return moveCommand(b.installed.configRelease(), req, coll)
	})
}

// takeCommandFailure counts a command between nodes and returns the failure injected for it, nil if
// there is none. A failure applies to one shard or to all. For a name that is also a router command,
// only failures for a shard apply.
func (fs *Faults) takeCommandFailure(name string, to catalog.ShardID) *Failure {
	if len(fs.failures) == 0 {
		return nil
	}
	if f := fs.takeFailure(name, to); f != nil || name == cmdMergeChunks || name == cmdDataSize {
		return f
	}
	return fs.takeFailure(name, "")
}

// awaitScheduler waits until the scheduler accepts commands. It fails if the config server is down or
// steps down meanwhile.
func (b *Balancer) awaitScheduler(ctx context.Context, deadline time.Time) error {
	term := b.term
	err := b.clock.Await(ctx, deadline, func() bool { return b.scheduler != schedulerRecovering || b.term != term })
	if err == nil && (b.scheduler != schedulerRunning || b.term != term) {
		return mongoerr.New(mongoerr.BalancerInterrupted, "Request rejected - the balancer's commands scheduler is stopped")
	}
	return err
}

// moveCommand returns the command for a donor (rules/02-defragmentation-and-merging §4.2).
func moveCommand(r catalog.Release, req MoveRequest, coll catalog.Collection) bson.D {
	doc := bson.D{{Key: cmdMoveRange, Value: req.Namespace}, {Key: "toShard", Value: string(req.To)}}
	if req.Min != nil {
		doc = append(doc, bson.E{Key: "min", Value: req.Min})
	}
	if req.Max != nil {
		doc = append(doc, bson.E{Key: "max", Value: req.Max})
	}
	concern := req.WriteConcern
	if concern == nil {
		concern = mustEncode(bson.D{{Key: "w", Value: int32(1)}, {Key: "wtimeout", Value: int32(0)}})
	}
	doc = append(doc, bson.E{Key: "waitForDelete", Value: req.WaitForDelete})
	if r.SendsEpoch() {
		doc = append(doc, bson.E{Key: "epoch", Value: coll.Epoch})
	}
	return append(doc,
		bson.E{Key: "collectionTimestamp", Value: coll.Timestamp},
		bson.E{Key: "fromShard", Value: string(req.From)},
		bson.E{Key: "maxChunkSizeBytes", Value: req.MaxChunkSizeBytes},
		bson.E{Key: "forceJumbo", Value: int32(req.Force)},
		bson.E{Key: "secondaryThrottle", Value: req.SecondaryThrottle},
		bson.E{Key: "writeConcern", Value: concern})
}

// actionCommand returns the command for a streaming action.
func (b *Balancer) actionCommand(a policy.StreamAction) bson.D {
	if a.Kind == policy.MergeAll {
		return bson.D{
			{Key: cmdMergeAllChunks, Value: a.Namespace},
			{Key: "shard", Value: string(a.Shard)},
			{Key: "maxNumberOfChunksToMerge", Value: int32(policy.AutoMergeMaxChunks)},
			{Key: "maxTimeProcessingChunksMS", Value: int32(b.parameters.Int("autoMergerMaxTimeProcessingChunksMS"))},
		}
	}
	table := b.config.Table(a.Namespace)
	if table == nil {
		return bson.D{{Key: actionNames[a.Kind], Value: a.Namespace}}
	}
	p := table.Pattern()
	version := bson.E{Key: "shardVersion", Value: versionDoc(table, table.ShardVersion(a.Shard))}
	if a.Kind == policy.MergeRange {
		return bson.D{
			{Key: cmdMergeChunks, Value: a.Namespace},
			{Key: "bounds", Value: bson.A{p.Bound(a.Min), p.Bound(a.Max)}},
			{Key: "shardName", Value: string(a.Shard)},
			{Key: "epoch", Value: table.Epoch()},
			{Key: "timestamp", Value: table.Timestamp()},
			version,
		}
	}
	return bson.D{
		{Key: cmdDataSize, Value: a.Namespace},
		{Key: "keyPattern", Value: p.Doc()},
		{Key: "min", Value: p.Bound(a.Min)},
		{Key: "max", Value: p.Bound(a.Max)},
		{Key: "estimate", Value: true},
		{Key: "maxSize", Value: a.MaxBytes},
		version,
	}
}

var actionNames = map[policy.StreamActionKind]string{
	policy.MergeRange: cmdMergeChunks, policy.MeasureRange: cmdDataSize, policy.MergeAll: cmdMergeAllChunks,
}

// splitCommand returns the split command for the owner of a chunk, which bypasses the scheduler
// (rules/02-defragmentation-and-merging §4.3).
func splitCommand(coll catalog.Collection, s policy.Split) bson.D {
	return bson.D{
		{Key: cmdSplitChunk, Value: s.Namespace},
		{Key: "from", Value: string(s.Shard)},
		{Key: "keyPattern", Value: coll.Pattern.Doc()},
		{Key: "epoch", Value: coll.Epoch},
		{Key: "timestamp", Value: coll.Timestamp},
		{Key: "min", Value: coll.Pattern.Bound(s.Min)},
		{Key: "max", Value: coll.Pattern.Bound(s.Max)},
		{Key: "splitKeys", Value: boundsOf(coll, s.Points)},
	}
}

// splitPointsCommand returns the command that asks the owner of a chunk for split points, if the chunk
// was too large to move (rules/02-defragmentation-and-merging §4.3).
func splitPointsCommand(coll catalog.Collection, s policy.Split, maxChunkSizeBytes int64) bson.D {
	_, name, _ := strings.Cut(s.Namespace, ".")
	return bson.D{
		{Key: cmdAutoSplitVector, Value: name},
		{Key: "keyPattern", Value: coll.Pattern.Doc()},
		{Key: "min", Value: coll.Pattern.Bound(s.Min)},
		{Key: "max", Value: coll.Pattern.Bound(s.Max)},
		{Key: "maxChunkSizeBytes", Value: maxChunkSizeBytes},
		{Key: "limit", Value: int32(1)},
	}
}

func boundsOf(coll catalog.Collection, keys []catalog.Key) bson.A {
	bounds := make(bson.A, len(keys))
	for i, key := range keys {
		bounds[i] = coll.Pattern.Bound(key)
	}
	return bounds
}

// joinPollInterval is the interval at which a new balancer checks whether the migrations of the previous term
// have ended.
const joinPollInterval = 100 * time.Millisecond

// loopGoroutine is the goroutine of a balancer on real time. done closes when it ends.
type loopGoroutine struct {
	stop context.CancelFunc
	done chan struct{}
}

// StepDown makes another member the primary of the config server. The balancer ends and a new one starts
// in a new term. The new one reads settings and phases from the catalog and waits for the migrations in
// progress (rules/02-defragmentation-and-merging §1.4, §2.10, §4.5).
//
// location is the time zone of the new primary; nil keeps the old one's.
func (b *Balancer) StepDown(location *time.Location) error {
	if b.faults.configDown {
		return mongoerr.New(mongoerr.HostUnreachable, "the config server is down: restart it")
	}
	if location != nil {
		b.location = location
	}
	b.stopLoop()
	b.term++
	b.startEngine()
	b.clock.Wake()
	return nil
}

// stopLoop ends the loop if it is running.
func (b *Balancer) stopLoop() {
	b.scheduler = schedulerStopped
	if b.driver != nil {
		b.driver.Stop()
	}
	if b.goroutine != nil {
		b.goroutine.stop()
	}
}

// startEngine creates the engine of a term: an event driver on virtual time, the goroutine driver on
// real time. Both start when the migrations of the previous term have ended.
func (b *Balancer) startEngine() {
	if b.clock.IsClosed() {
		return
	}
	b.scanZones()
	cfg := balancer.Config{
		Release:    b.installed.configRelease(),
		Parameters: b.engineParameters,
		Rand:       balancer.NewRand(b.seed, b.term),
		Logger:     b.logger,
		Location:   b.location,
	}
	if !b.clock.IsRealTime() {
		b.loop = balancer.NewLoop(cfg)
		driver := balancer.NewEventDriver(b.clock.Events(), b.loop, engineCluster{b, &dataSizes{}})
		b.driver = driver
		b.joinMigrations(driver.Start)
		return
	}
	cfg.OnRoundChange = func() {
		b.clock.WithLock(b.clock.Wake)
	}
	b.loop = balancer.NewLoop(cfg)
	b.runLoop(b.loop)
}

// runLoop starts the goroutine of a loop on real time.
func (b *Balancer) runLoop(loop *balancer.Loop) {
	before := b.goroutine
	ctx, stop := context.WithCancel(b.ctx)
	b.goroutine = &loopGoroutine{stop: stop, done: make(chan struct{})}
	done, joined := b.goroutine.done, make(chan struct{})
	b.joinMigrations(func() { close(joined) })
	b.background.Go(func() {
		defer close(done)
		if before != nil {
			<-before.done
		}
		select {
		case <-joined:
		case <-ctx.Done():
		}
		b.driveLoop(ctx, loop)
	})
}

// driveLoop runs a loop on real time. If the loop panics, the config server steps down.
func (b *Balancer) driveLoop(ctx context.Context, loop *balancer.Loop) {
	b.clock.Attempt("the balancer", func() { balancer.Run(ctx, loop, lockingEngineCluster{b}) }, func(error) {
		b.clock.WithLock(func() {
			b.clock.After(balancer.RoundInterval, func() {
				if b.loop == loop {
					_ = b.StepDown(nil) // fails only while the config server is down
				}
			})
		})
	})
}

// joinMigrations waits for the migrations in progress (_shardsvrJoinMigrations). Until then the
// scheduler accepts no commands.
func (b *Balancer) joinMigrations(then func()) {
	b.scheduler = schedulerRecovering
	term := b.term
	joined := b.migrations.activeByDonor()
	var look func()
	look = func() {
		for _, m := range joined {
			if !m.ended {
				b.clock.After(joinPollInterval, look)
				return
			}
		}
		if b.term == term && b.scheduler == schedulerRecovering {
			b.scheduler = schedulerRunning
			b.clock.Wake()
		}
		then()
	}
	look()
}

// The lock "balancer" of config.locks (rules/01-selection §9.5).
const (
	configLocks  = "locks"
	balancerLock = "balancer"
	lockFree     = int32(0)
	lockHeld     = int32(2)
)

// buildLocks creates the lock of a cluster at rest: free between rounds up to 3.2, permanently held by
// the config server in 3.4.
func (c *ConfigDB) buildLocks() error {
	if !c.release.LocksBalancer() {
		return nil
	}
	state, process := lockFree, routerName
	if c.release.HasConfigServerBalancer() {
		state, process = lockHeld, "ConfigServer"
	}
	return c.insert(configLocks, append(bson.D{{Key: "_id", Value: balancerLock}}, c.lockFields(state, process)...))
}

func (c *ConfigDB) lockFields(state int32, process string) bson.D {
	why := "doing balance round"
	if c.release.HasConfigServerBalancer() {
		why = "CSRS Balancer"
	}
	return bson.D{
		{Key: "state", Value: state},
		{Key: "process", Value: process},
		{Key: "ts", Value: c.ids.NewObjectID()},
		{Key: "when", Value: bson.NewDateTimeFromTime(c.clock.Now())},
		{Key: "who", Value: process + ":Balancer"},
		{Key: "why", Value: why},
	}
}

// LockRound takes the lock for a round. It returns false if a user has set another holder by hand; the
// mock has no other balancers.
func (e engineCluster) LockRound(context.Context) (bool, error) {
	taken := false
	_, err := e.b.config.modify(configLocks, balancerLock, func(doc *bson.D) {
		for _, field := range *doc {
			if state, isNumber := field.Value.(int32); field.Key == "state" && (!isNumber || state != lockFree) {
				return
			}
		}
		for _, field := range e.b.config.lockFields(lockHeld, routerName) {
			setDocField(doc, field.Key, field.Value)
		}
		taken = true
	})
	return taken, err
}

// UnlockRound frees the lock but keeps the fields of its last holder.
func (e engineCluster) UnlockRound(context.Context) error {
	_, err := e.b.config.modify(configLocks, balancerLock, func(doc *bson.D) { setDocField(doc, "state", lockFree) })
	return err
}
