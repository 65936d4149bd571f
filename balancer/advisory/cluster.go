package advisory

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Cluster is the state of a cluster that advisories are compared with.
type Cluster struct {
	*catalog.Snapshot
	// Namespaces limits the collections whose state counts; empty means all.
	Namespaces []string
	// MovingPrimary holds the databases with a running movePrimary, if the caller asked for them.
	MovingPrimary []string
}

// manyChunks is the number of chunks from which the state ManyChunks holds.
const manyChunks = 100_000

// InState reports whether the cluster is in a state, according to the Snapshot.
func (c Cluster) InState(state State) bool {
	p := c.Parts()
	switch state {
	case Zones:
		return c.hasZones()
	case TimeSeries:
		return c.hasTimeSeries()
	case ConfigShard:
		_, ok := c.Shard(catalog.ConfigServerID)
		return ok
	case MovedUnsharded:
		return c.anyCollection(func(of *catalog.CollectionState) bool { return of.Unsplittable })
	case Jumbo:
		return c.anyCollection(func(of *catalog.CollectionState) bool { return of.Count().Jumbo > 0 })
	case ManyChunks:
		var n int64
		for _, of := range c.Collections() {
			n += of.Count().Chunks
		}
		return n >= manyChunks
	case RangeDeletions:
		return slices.ContainsFunc(p.Deletions, func(d catalog.RangeDeletion) bool { return c.coversNamespace(d.Namespace) })
	case Balancing:
		on := diagnosis.ModeOf(c.Snapshot) != catalog.ModeOff && len(diagnosis.Sharded(c.Snapshot)) > 0
		return on || len(p.Migrations) > 0
	case Draining:
		return slices.ContainsFunc(c.Shards(), func(s catalog.ShardState) bool { return s.Draining })
	case Resharding:
		return len(p.Reshardings) > 0
	case MovingPrimary:
		return len(c.MovingPrimary) > 0
	case Upgrading:
		return p.Compatibility.Changing() || p.Compatibility.IsBehind(p.Version) ||
			len(diagnosis.VersionFindings(c.Snapshot)) > 0
	}
	return false
}

func (c Cluster) coversNamespace(ns string) bool {
	return len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, ns)
}

func (c Cluster) anyCollection(is func(*catalog.CollectionState) bool) bool {
	return slices.ContainsFunc(c.Collections(), func(of *catalog.CollectionState) bool {
		return c.coversNamespace(of.Namespace) && is(of)
	})
}

// hasZones reports whether zones have ranges. Overviews have only the documents of zones.
func (c Cluster) hasZones() bool {
	return c.anyCollection(
		func(of *catalog.CollectionState) bool { return of.Zones != nil && len(of.Zones.Ranges()) > 0 },
	) ||
		slices.ContainsFunc(c.Parts().Config["tags"], func(doc bson.Raw) bool {
			ns, _ := doc.Lookup("ns").StringValueOK()
			return c.coversNamespace(ns)
		})
}

// hasTimeSeries reports whether the cluster has time series collections: collections of buckets or,
// from 9.0 on, collections with time series options.
func (c Cluster) hasTimeSeries() bool {
	return c.anyCollection(func(of *catalog.CollectionState) bool {
		return catalog.TimeSeriesNamespace(of.Namespace) != of.Namespace
	}) ||
		slices.ContainsFunc(c.Parts().Config["collections"], func(doc bson.Raw) bool {
			ns, _ := doc.Lookup("_id").StringValueOK()
			return c.coversNamespace(ns) && !doc.Lookup("timeseriesFields").IsZero()
		})
}

// IsRunning reports whether the Snapshot shows that a command is running on the cluster.
func (c Cluster) IsRunning(command Command) bool {
	resharding := func(is bool) bool {
		return slices.ContainsFunc(c.Parts().Reshardings, func(r catalog.ActiveResharding) bool {
			return (r.Kind == "moveCollection") == is
		})
	}
	switch command {
	case Move:
		return c.InState(Balancing)
	case Drain:
		return c.InState(Draining)
	case TransitionToDedicated:
		shard, _ := c.Shard(catalog.ConfigServerID)
		return shard.Draining
	case MovePrimary:
		return c.InState(MovingPrimary)
	case MoveCollection:
		return resharding(true)
	case Reshard:
		return resharding(false)
	case SetFCV:
		return c.Parts().Compatibility.Changing()
	}
	return false
}
