package apply

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// rehearsal is a cluster on which commands change only a copy of its routing table. A plan that can be
// executed on the rehearsal can be executed on the cluster, as long as no other client changes the
// cluster.
type rehearsal struct {
	Cluster
	// alsoSend also sends the commands, for a cluster that only prints them.
	alsoSend bool

	mu     sync.Mutex
	tables map[string]*catalog.RoutingTable
	paused map[string]bool
	lastID uint64
}

func newRehearsal(c Cluster, send bool) *rehearsal {
	return &rehearsal{
		Cluster: c, alsoSend: send, tables: map[string]*catalog.RoutingTable{}, paused: map[string]bool{},
	}
}

// Snapshot returns the snapshot of the cluster, with balancing off for collections whose balancing the
// run would have paused.
func (r *rehearsal) Snapshot(ctx context.Context, namespaces []string) (*catalog.Snapshot, error) {
	s, err := r.Cluster.Snapshot(ctx, namespaces)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for ns, off := range r.paused {
		s = withBalancing(s, ns, !off)
	}
	return s, nil
}

// Chunks reads all chunks of a collection from the cluster once.
func (r *rehearsal) Chunks(ctx context.Context, c catalog.Collection, lower, upper catalog.Key) (
	[]catalog.Chunk, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tables[c.Namespace]
	if t == nil {
		chunks, err := r.Cluster.Chunks(ctx, c, catalog.Key{}, catalog.Key{})
		if err != nil {
			return nil, err
		}
		t, err = catalog.NewRoutingTable(c.Pattern, c.Epoch, c.Timestamp, slices.Values(chunks))
		if err != nil {
			return nil, fmt.Errorf("the chunks of %s: %w", c.Namespace, err)
		}
		r.tables[c.Namespace] = t
	}
	return slices.Collect(t.Overlapping(lower, upper)), nil
}

// Do changes the chunks as the command would.
func (r *rehearsal) Do(ctx context.Context, c Command) error {
	if r.alsoSend {
		if err := r.Cluster.Do(ctx, c); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tables[c.Namespace]
	changed := r.changedChunks(t, c)
	next, err := t.Apply(changed)
	if err != nil {
		return err
	}
	r.tables[c.Namespace] = next
	return nil
}

func (r *rehearsal) changedChunks(t *catalog.RoutingTable, c Command) []catalog.Chunk {
	commit := catalog.CommitRules{NewID: r.newID}
	switch c.Kind {
	case plan.Move:
		upper := c.expectedMax()
		if upper.IsZero() {
			return nil // as if hardly anything had moved
		}
		changed, _ := commit.Move(t, t.Find(c.Min), c.Min, upper, c.To, bson.Timestamp{T: 1})
		return changed
	case plan.Split:
		if c.Halve {
			point, ok := c.Pattern.KeyAtFraction(c.Min, c.Max, 0.5)
			if !ok {
				return nil
			}
			return commit.Split(t, t.Find(point), []catalog.Key{point})
		}
		if !c.DonorChoosesEnd {
			return commit.Split(t, t.Find(c.Point), []catalog.Key{c.Point})
		}
		chunk := t.Find(c.Min)
		points := slices.DeleteFunc(slices.Clone(c.ExpectedBounds), func(k catalog.Key) bool {
			return !chunk.Min.Less(k) || !k.Less(chunk.Max)
		})
		if len(points) == 0 {
			return nil
		}
		return commit.Split(t, chunk, points)
	case plan.Merge:
		return []catalog.Chunk{commit.Merge(t, slices.Collect(t.Overlapping(c.Min, c.Max)))}
	}
	return nil
}

// expectedMax returns the expected end of a move; zero if it is not known.
func (c Command) expectedMax() catalog.Key {
	switch middle, ok := c.Pattern.KeyAtFraction(c.Min, c.Max, 0.5); {
	case !c.DonorChoosesEnd:
		return c.Max
	case len(c.ExpectedBounds) > 0:
		return c.ExpectedBounds[0]
	case ok:
		return middle
	}
	return catalog.Key{}
}

// MovedAmount returns the expected amount.
func (r *rehearsal) MovedAmount(_ context.Context, c Command) (RangeAmount, error) {
	return RangeAmount{Min: c.Min, Max: c.Max}, nil
}

func (r *rehearsal) newID() (id bson.ObjectID) {
	r.lastID++
	binary.BigEndian.PutUint64(id[4:], r.lastID)
	return id
}

// SetBalancing records the change.
func (r *rehearsal) SetBalancing(ctx context.Context, namespaces []string, on bool) error {
	r.mu.Lock()
	for _, ns := range namespaces {
		r.paused[ns] = !on
	}
	r.mu.Unlock()
	if r.alsoSend {
		return r.Cluster.SetBalancing(ctx, namespaces, on)
	}
	return nil
}

// withBalancing returns a Snapshot in which a collection's balancing is on or off.
func withBalancing(s *catalog.Snapshot, ns string, on bool) *catalog.Snapshot {
	c := s.Collection(ns)
	if c == nil || c.NoBalance == !on {
		return s
	}
	next := *c
	next.NoBalance = !on
	return s.WithCollection(&next)
}

// WithBalancingResumed returns a Snapshot in which the balancing of the collections that a run has
// switched off is on again. New plans are made from it.
func WithBalancingResumed(s *catalog.Snapshot, paused []string) *catalog.Snapshot {
	for _, ns := range paused {
		s = withBalancing(s, ns, true)
	}
	return s
}
