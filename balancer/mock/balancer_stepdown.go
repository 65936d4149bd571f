package mock

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/mongoerr"
)

// joinPoll is how often a new balancer looks whether the migrations of the old
// one have ended.
const joinPoll = 100 * time.Millisecond

// runner is a balancer on real time: its goroutine, until done is closed.
type runner struct {
	stop context.CancelFunc
	done chan struct{}
}

// StepDown lets another member of the config server become primary: the
// balancer ends and a new one starts in a new term. It reads settings and
// phases from the catalog and waits for the migrations under way, which end by
// themselves (rules/02-defragmentation-and-merging §1.4, §2.10, §4.5).
//
// The new primary may be in another time zone; nil is that of the old one.
func (b *Balancer) StepDown(zone *time.Location) error {
	if b.faults.configDown {
		return mongoerr.New(mongoerr.HostUnreachable, "the config server is down: restart it")
	}
	if zone != nil {
		b.zone = zone
	}
	b.end()
	b.term++
	b.begin()
	b.clock.Wake()
	return nil
}

// end ends the loop, if one runs.
func (b *Balancer) end() {
	b.scheduler = schedulerStopped
	if b.driver != nil {
		b.driver.Stop()
	}
	if b.runner != nil {
		b.runner.stop()
	}
}

// begin makes the engine of a term: an event driver on virtual time,
// the goroutine driver on real time. Both begin when the migrations of the term
// before have ended.
func (b *Balancer) begin() {
	if b.clock.IsClosed() {
		return
	}
	cfg := balancer.Config{
		Version:    b.release,
		Parameters: b.engineParameters,
		Rand:       balancer.NewRand(b.seed, b.term),
		Logger:     b.logger,
		Location:   b.zone,
	}
	if !b.clock.RealTime() {
		b.loop = balancer.NewLoop(cfg)
		driver := balancer.NewEventDriver(b.clock.Events(), b.loop, engine{b, &dataSizes{}})
		b.driver = driver
		b.joinMigrations(driver.Start)
		return
	}
	cfg.Changed = func() {
		b.clock.WithLock(b.clock.Wake)
	}
	b.loop = balancer.NewLoop(cfg)
	b.run(b.loop)
}

// run starts the goroutine of a loop on real time.
func (b *Balancer) run(loop *balancer.Loop) {
	before := b.runner
	ctx, stop := context.WithCancel(b.ctx)
	b.runner = &runner{stop: stop, done: make(chan struct{})}
	done, joined := b.runner.done, make(chan struct{})
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
		b.turn(ctx, loop)
	})
}

// turn runs a loop on real time. Should the program panic where the loop itself
// can't go on, the config server steps down.
func (b *Balancer) turn(ctx context.Context, loop *balancer.Loop) {
	b.clock.Attempt("the balancer", func() { balancer.Run(ctx, loop, sharedEngine{b}) }, func(error) {
		b.clock.WithLock(func() {
			b.clock.After(balancer.RoundInterval, func() {
				if b.loop == loop {
					_ = b.StepDown(nil) // only a config server that is down refuses: it begins a term when it is back
				}
			})
		})
	})
}

// joinMigrations waits for the migrations now under way
// (_shardsvrJoinMigrations). Until then the scheduler takes no commands.
func (b *Balancer) joinMigrations(then func()) {
	b.scheduler = schedulerRecovering
	term := b.term
	joined := b.migrations.byDonor()
	var look func()
	look = func() {
		for _, m := range joined {
			if !m.over {
				b.clock.After(joinPoll, look)
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

// buildLocks makes the lock as a cluster at rest has it: free between rounds
// up to 3.2, held by the config server for good in 3.4.
func (cfg *ConfigDB) buildLocks() error {
	if !cfg.release.LocksBalancer() {
		return nil
	}
	state, process := lockFree, routerName
	if cfg.release.HasModes() {
		state, process = lockHeld, "ConfigServer"
	}
	return cfg.insert(configLocks, append(bson.D{{Key: "_id", Value: balancerLock}}, cfg.lockFields(state, process)...))
}

func (cfg *ConfigDB) lockFields(state int32, process string) bson.D {
	why := "doing balance round"
	if cfg.release.HasModes() {
		why = "CSRS Balancer"
	}
	return bson.D{
		{Key: "state", Value: state},
		{Key: "process", Value: process},
		{Key: "ts", Value: cfg.ids.NewObjectID()},
		{Key: "when", Value: bson.NewDateTimeFromTime(cfg.clock.Now())},
		{Key: "who", Value: process + ":Balancer"},
		{Key: "why", Value: why},
	}
}

// LockRound takes the lock for a round, unless somebody holds it who wrote it
// by hand: other routers there are none.
func (e engine) LockRound(context.Context) (bool, error) {
	taken := false
	_, err := e.b.config.modify(configLocks, balancerLock, func(doc *bson.D) {
		for _, field := range *doc {
			if state, isNumber := field.Value.(int32); field.Key == "state" && (!isNumber || state != lockFree) {
				return
			}
		}
		for _, field := range e.b.config.lockFields(lockHeld, routerName) {
			set(doc, field.Key, field.Value)
		}
		taken = true
	})
	return taken, err
}

// UnlockRound frees the lock; what it says of its last holder stays.
func (e engine) UnlockRound(context.Context) error {
	_, err := e.b.config.modify(configLocks, balancerLock, func(doc *bson.D) { set(doc, "state", lockFree) })
	return err
}
