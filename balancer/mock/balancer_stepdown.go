package mock

import (
	"context"
	"math/rand/v2"
	"time"

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
// themselves (spec 02 §1.4, §2.10, §4.5).
func (c *Cluster) StepDown() error {
	if c.faults.configDown {
		return mongoerr.New(mongoerr.HostUnreachable, "the config server is down: restart it")
	}
	c.stopBalancer()
	c.term++
	c.startBalancer()
	c.cond.Broadcast()
	return nil
}

// stopBalancer ends the loop, if one runs.
func (c *Cluster) stopBalancer() {
	c.scheduler = schedulerStopped
	if c.driver != nil {
		c.driver.Stop()
	}
	if c.runner != nil {
		c.runner.stop()
	}
}

// startBalancer makes the engine of a term: an event driver on virtual time,
// the goroutine driver on real time. Both begin when the migrations of the term
// before have ended.
func (c *Cluster) startBalancer() {
	if c.closed {
		return
	}
	cfg := balancer.Config{
		Version:    c.release,
		Parameters: c.engineParameters,
		Rand:       rand.New(rand.NewPCG(c.seed, 0xba19+uint64(c.term))),
		Logger:     c.logger,
		Location:   time.Local, // the config server's zone is this machine's
	}
	if !c.realTime {
		c.loop = balancer.NewLoop(cfg)
		driver := balancer.NewEventDriver(c.queue, c.loop, engine{c})
		c.driver = driver
		c.joinMigrations(driver.Start)
		return
	}
	cfg.Changed = func() {
		c.mu.Lock()
		c.cond.Broadcast()
		c.mu.Unlock()
	}
	c.loop = balancer.NewLoop(cfg)
	c.runBalancer(c.loop)
}

// runBalancer starts the goroutine of a loop on real time.
func (c *Cluster) runBalancer(loop *balancer.Loop) {
	before := c.runner
	ctx, stop := context.WithCancel(c.ctx)
	c.runner = &runner{stop: stop, done: make(chan struct{})}
	done, joined := c.runner.done, make(chan struct{})
	c.joinMigrations(func() { close(joined) })
	c.background.Go(func() {
		defer close(done)
		if before != nil {
			<-before.done
		}
		select {
		case <-joined:
		case <-ctx.Done():
		}
		balancer.Run(ctx, loop, sharedEngine{c})
	})
}

// joinMigrations waits for the migrations now under way
// (_shardsvrJoinMigrations). Until then the scheduler takes no commands.
func (c *Cluster) joinMigrations(then func()) {
	c.scheduler = schedulerRecovering
	term := c.term
	joined := c.pendingByDonor()
	var look func()
	look = func() {
		for _, m := range joined {
			if !m.over {
				c.after(joinPoll, look)
				return
			}
		}
		if c.term == term && c.scheduler == schedulerRecovering {
			c.scheduler = schedulerRunning
			c.cond.Broadcast()
		}
		then()
	}
	look()
}
