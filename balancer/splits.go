package balancer

import (
	"context"
	"errors"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Splitter splits chunks, and marks chunks and collections that can't be split or moved.
type Splitter interface {
	// Split asks the owning shard to split a chunk (rules/01-rounds-and-settings §5.3).
	Split(ctx context.Context, s policy.Split) error

	// SplitPoint asks the owner of the chunk that contains the migration's lower bound where to split
	// the whole chunk (rules/01-selection §10.1). It returns the chunk and one split point. Before 6.0
	// it returns as many points as are needed for pieces of half a chunk size, or no points and Halve
	// if the shard chooses the point. The result has no point if the chunk can't be split.
	SplitPoint(ctx context.Context, m policy.Migration) (policy.Split, error)

	// MarkJumbo sets the jumbo flag of the chunk with this lower bound. The version of the chunk does
	// not change.
	MarkJumbo(ctx context.Context, ns string, min catalog.Key) error

	// SwitchOffBalancing sets noBalance in the entry of a collection
	// (rules/01-rounds-and-settings §1.6).
	SwitchOffBalancing(ctx context.Context, ns string) error
}

// splitAtZones splits chunks at zone boundaries, in every sharded collection whether or not its
// balancing is enabled (rules/01-rounds-and-settings §5.2 and §5.3). Refused splits are logged as
// warnings. splitAtZones returns only a termination and errors that fail the round.
func (l *Loop) splitAtZones() error {
	splits, err := l.selectSplits()
	if failsRound(err) {
		return err
	}
	if err != nil {
		l.cfg.Logger.Warn("zone splits not selected", "id", 21878, "error", err)
		return onlyTermination(err)
	}
	for _, split := range splits {
		if _, err := l.routing(split.Namespace); err != nil {
			l.cfg.Logger.Warn("zone splits given up", "id", 21878, "error", err)
			return onlyTermination(err)
		}
		err := l.split(split)
		if errors.Is(err, errTerminated) {
			return err
		}
		if err != nil {
			l.cfg.Logger.Warn("zone split failed", "id", 21879, "ns", split.Namespace, "error", err)
		}
	}
	return nil
}

func (l *Loop) selectSplits() ([]policy.Split, error) {
	// As in the server, the shard statistics are read and not used, but a failure to read them prevents
	// the splits.
	if err := l.drawShardOrder(); err != nil {
		return nil, err
	}
	colls, err := l.collections()
	if err != nil {
		return nil, err
	}
	var splits []policy.Split
	talks := l.decisions.needsAllCollections()
	for _, coll := range l.shuffled(colls) {
		if !talks && l.idle.nothingToSplit(coll.Namespace) {
			continue
		}
		routing, err := l.routing(coll.Namespace)
		switch {
		case errors.Is(err, errTerminated), failsRound(err):
			return nil, err
		case mongoerr.Is(err, mongoerr.NamespaceNotFound):
			continue
		case err != nil:
			l.cfg.Logger.Warn("collection left out of the zone splits", "id", 21852, "ns", coll.Namespace, "error", err)
			continue
		}
		if coll.Namespace == policy.SessionsNamespace && routing.Zones.Len() > 0 {
			l.cfg.Logger.Warn("zones of the sessions collection are ignored", "id", 4562401)
		}
		found := l.cfg.splitsOf(routing)
		if len(found) == 0 {
			l.idle.noteNothingToSplit(coll.Namespace,
				l.cfg.FixedZones && routing.Zones.Len() == 0 && !l.cfg.splitsSessions(routing))
		}
		splits = append(splits, found...)
	}
	return splits, nil
}

// splitsOf returns the splits at the zone boundaries of a collection. Before 7.0, the sessions
// collection has its own splits instead (rules/01-rounds-and-settings §5.4).
func (c *Config) splitsOf(r Routing) []policy.Split {
	if r.Table == nil {
		return nil
	}
	if c.splitsSessions(r) {
		return policy.SessionsSplits(r.Table, c.Parameters().SessionsChunks)
	}
	return policy.ZoneSplits(r.Collection.Namespace, r.Table, r.Zones)
}

func (c *Config) splitsSessions(r Routing) bool {
	return r.Collection.Namespace == policy.SessionsNamespace && c.Release.SplitsSessions()
}

// failsRound reports whether an error ends the round for all collections. The server throws such
// errors: zone bounds that do not fit the shard key. Errors that the server returns concern only the
// collection (rules/01-rounds-and-settings §4.1).
func failsRound(err error) bool {
	return mongoerr.Is(err, mongoerr.BoundFieldMismatch) || mongoerr.Is(err, mongoerr.KeyPatternShorterThanBound)
}

// maxSplitPoints is the maximum number of points of one split command
// (rules/02-defragmentation-and-merging §4.3).
const maxSplitPoints = 8192

// split sends one split to the owner of the chunk, without the commands scheduler. Points beyond the
// limit are left for the next round. A point that equals a bound of the chunk is refused here.
func (l *Loop) split(s policy.Split) error {
	if n := len(s.Points); n > maxSplitPoints {
		l.cfg.Logger.Warn("too many split points for one command, the rest is dropped", "id", 6320300,
			"ns", s.Namespace, "points", n, "limit", maxSplitPoints)
		s.Points = s.Points[:maxSplitPoints]
	}
	if n := len(s.Points); n > 0 && (s.Points[0].Equal(s.Min) || s.Points[n-1].Equal(s.Max)) {
		return mongoerr.New(mongoerr.CannotSplit, "a split point of %s is a bound of its chunk", s.Namespace)
	}
	return callWithoutValue(&l.thread, "split", func(ctx context.Context, c Cluster) error { return c.Split(ctx, s) })
}

// handleTooBig handles a range that was too big to move: it splits the chunk, or flags the chunk as
// jumbo if it can't be split (rules/01-selection §10.1). Only a failed refresh of the routing table is
// returned, which includes a collection that was created again; all later errors are ignored.
func (l *Loop) handleTooBig(m policy.Migration) error {
	routing, err := l.routing(m.Namespace)
	if err != nil {
		return err
	}
	if !routing.Collection.UUID.Equal(m.UUID) {
		return mongoerr.New(mongoerr.NamespaceNotFound,
			"collection %s of the migration is gone, another has its name", m.Namespace)
	}
	split, err := call(&l.thread, "splitPoint", func(ctx context.Context, c Cluster) (policy.Split, error) {
		return c.SplitPoint(ctx, m)
	})
	cannot := err == nil && len(split.Points) == 0 && !split.Halve
	if err == nil && !cannot {
		err = l.split(split)
		cannot = split.Halve && mongoerr.Is(err, mongoerr.CannotSplit)
	}
	if cannot {
		l.cfg.Logger.Info("chunk can't be split, flagging it jumbo", "id", 21873, "ns", m.Namespace)
		err = callWithoutValue(&l.thread, "markJumbo", func(ctx context.Context, c Cluster) error {
			return c.MarkJumbo(ctx, m.Namespace, split.Min)
		})
	}
	if errors.Is(err, errTerminated) {
		return err
	}
	if err != nil {
		l.cfg.Logger.Warn("handling a chunk that is too big failed", "id", 21874, "ns", m.Namespace, "error", err)
	}
	return nil
}

// shuffled returns the collections in random order.
func (l *Loop) shuffled(colls []catalog.Collection) []*catalog.Collection {
	list := make([]*catalog.Collection, len(colls))
	for i := range colls {
		list[i] = &colls[i]
	}
	l.rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}
