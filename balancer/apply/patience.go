package apply

import (
	"context"
	"errors"
	"sync"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// patience is how long a router that has answered before is waited for.
const patience = 24 * time.Hour

// retryingCluster is a cluster whose router may go away and come back: what does no harm
// when it is asked twice is asked until somebody answers. Commands are not: whoever
// sent one has to look first what became of it.
type retryingCluster struct {
	Cluster
	clock Clock
	// until is when nobody waits any more; zero is never.
	until time.Time
	// tell is told once each time that the router goes.
	tell func(error)

	mu       sync.Mutex // steps of a round ask side by side
	answered bool       // once, so that the address is right
	away     bool
	over     bool // nobody waits any more
}

// Snapshot waits for an answer.
func (p *retryingCluster) Snapshot(ctx context.Context, namespaces []string) (s *catalog.Snapshot, err error) {
	err = p.ask(ctx, func() error {
		s, err = p.Cluster.Snapshot(ctx, namespaces)
		return err
	})
	return s, err
}

// Chunks waits for an answer.
func (p *retryingCluster) Chunks(
	ctx context.Context, c catalog.Collection, lower, upper catalog.Key,
) (chunks []catalog.Chunk, err error) {
	err = p.ask(ctx, func() error {
		chunks, err = p.Cluster.Chunks(ctx, c, lower, upper)
		return err
	})
	return chunks, err
}

// Cuts waits for an answer.
func (p *retryingCluster) Cuts(ctx context.Context, c Command) (keys []catalog.Key, err error) {
	err = p.ask(ctx, func() error {
		keys, err = p.Cluster.Cuts(ctx, c)
		return err
	})
	return keys, err
}

// Size waits for an answer.
func (p *retryingCluster) Size(ctx context.Context, c Command) (is Moved, err error) {
	err = p.ask(ctx, func() error {
		is, err = p.Cluster.Size(ctx, c)
		return err
	})
	return is, err
}

// Moved waits for an answer.
func (p *retryingCluster) Moved(ctx context.Context, c Command) (is Moved, err error) {
	err = p.ask(ctx, func() error {
		is, err = p.Cluster.Moved(ctx, c)
		return err
	})
	return is, err
}

// SetBalancing waits for an answer.
func (p *retryingCluster) SetBalancing(ctx context.Context, namespaces []string, on bool) error {
	return p.ask(ctx, func() error { return p.Cluster.SetBalancing(ctx, namespaces, on) })
}

func (p *retryingCluster) ask(ctx context.Context, ask func() error) error {
	began := p.clock.Now()
	for tries := 0; ; tries++ {
		err := ask()
		if !p.waits(err) || ctx.Err() != nil {
			return err
		}
		if p.gaveUp(began) {
			return err
		}
		if p.clock.Sleep(ctx, pauses()[min(tries, len(pauses())-1)]) != nil {
			return err
		}
	}
}

// gaveUp reports whether a router is waited for no longer.
func (p *retryingCluster) gaveUp(began time.Time) bool {
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = p.over || now.Sub(began) >= patience || !p.until.IsZero() && !now.Before(p.until)
	return p.over
}

// waits reports whether an error is that of a router to wait for, and tells of it.
func (p *retryingCluster) waits(err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if mongoerr.IsOverloaded(err) {
		return true
	}
	if !unanswered(err) {
		p.answered, p.away = true, false
		return false
	}
	if p.answered && !p.away {
		p.away = true
		p.tell(err)
	}
	return p.answered
}

// unanswered reports whether nobody answered: the way to the router is broken.
func unanswered(err error) bool { return errors.As(err, new(*mongoerr.UnansweredError)) }
