package policy

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// These are the reasons why a collection does not comply.
const (
	ViolationDefragmenting   = "defragmentingChunks"
	ViolationDraining        = "draining"
	ViolationZone            = "zoneViolation"
	ViolationChunksImbalance = "chunksImbalance"
)

// violation returns the status command's name for a reason to move.
func (r Reason) violation() string {
	switch r {
	case ReasonDrain:
		return ViolationDraining
	case ReasonZoneViolation:
		return ViolationZone
	case ReasonChunksImbalance:
		return ViolationChunksImbalance
	}
	return ""
}

// Defragmentation is the progress of a collection's defragmentation.
type Defragmentation struct {
	Running bool // defragmentCollection is set
	// Phase is the current phase; empty if the policy has no state for the collection, for instance
	// while the balancer is off.
	Phase           string
	RemainingChunks int64 // remaining in the phase
}

// Compliance says whether the balancer would not change a collection. It is the result of
// balancerCollectionStatus (rules/01-selection §7).
//
// A compliant collection may still have problems: chunks that can't move, such as flagged chunks on a
// draining shard, and zones without shards do not affect compliance. A Report contains them.
type Compliance struct {
	// ChunkSizeMB is in MiB, rounded up to two decimals; 0 for rules that count chunks, for which it is
	// not reported.
	ChunkSizeMB float64
	Compliant   bool
	Violation   string           // empty when compliant
	Details     *Defragmentation // only with ViolationDefragmenting
}

// CollectionStatus does a dry run of the zone splits and of the selection, with every shard available.
// It does not matter whether balancing is disabled for the cluster or for the collection. Errors are
// those of CheckAligned (possible only for config.system.sessions) and of SelectMigrations.
func CollectionStatus(s Situation, d Defragmentation) (Compliance, error) {
	return ExplainStatus(s, d, nil)
}

// ExplainStatus is like CollectionStatus, with a report of all decisions.
func ExplainStatus(s Situation, d Defragmentation, why *Report) (Compliance, error) {
	status, settled := StatusWithoutSizes(s, d)
	if settled {
		if d.Running {
			why.Add(Decision{Code: DefragmentingFirst, Namespace: s.Namespace})
		}
		return status, nil
	}
	if err := CheckAligned(s.Table, s.Zones); err != nil {
		why.Add(Decision{Code: UnalignedZones, Namespace: s.Namespace, Err: err})
		return Compliance{}, err
	}
	_, first, err := SelectMigrations(s, NewAvailableShards(s.Shards), why)
	if err != nil {
		return Compliance{}, err
	}
	status.Compliant, status.Violation = first == ReasonNone, first.violation()
	return status, nil
}

// StatusWithoutSizes returns the part of CollectionStatus that needs no sizes from shards: a
// defragmentation, and zones that need splits. settled is false if the sizes decide.
func StatusWithoutSizes(s Situation, d Defragmentation) (status Compliance, settled bool) {
	status.ChunkSizeMB = chunkSizeMB(s.maxChunkSize())
	switch {
	case d.Running:
		status.Violation, status.Details = ViolationDefragmenting, &d
	case len(ZoneSplits(s.Namespace, s.Table, s.Zones)) > 0:
		status.Violation = ViolationZone
	default:
		return status, false
	}
	return status, true
}

// StatusByTotals returns the part of CollectionStatus and StatusByCount that needs no routing table, but
// only the numbers of chunks and bytes on each shard. It decides for a collection without zones, with
// nothing on draining shards, and so evenly distributed that no rule moves a chunk. settled is false if
// the chunks decide.
func StatusByTotals(rules Rules, s Situation, chunks map[catalog.ShardID]int64) (status Compliance, settled bool) {
	if s.Zones.Len() > 0 || s.RandomMoveSource != nil || len(chunks) == 0 || len(s.Shards) == 0 {
		return status, false
	}
	counts, bytes := make([]int64, len(s.Shards)), make([]int64, len(s.Shards))
	var known int64
	for i, shard := range s.Shards {
		size, sized := s.Sizes.ByShard[shard.ID]
		if counts[i], bytes[i] = chunks[shard.ID], size; shard.Draining && counts[i] > 0 {
			return status, false
		}
		if rules == RulesDataSize && !sized {
			return status, false
		}
		known += counts[i]
	}
	for _, n := range chunks {
		if known -= n; known < 0 { // some chunks are on a removed shard
			return status, false
		}
	}
	status.Compliant = true
	if rules != RulesDataSize {
		return status, slices.Max(counts)-slices.Min(counts) < 2
	}
	status.ChunkSizeMB = chunkSizeMB(s.maxChunkSize())
	return status, slices.Max(bytes)-slices.Min(bytes) < ImbalanceFactor*s.maxChunkSize()
}

// chunkSizeMB converts bytes to MiB, rounded up to two decimals: 200000 bytes are 0.2.
func chunkSizeMB(bytes int64) float64 {
	hundredths := (bytes*100 + mib - 1) / mib
	return float64(hundredths) / 100
}

// Doc returns the fields of the command's reply, without ok.
func (c Compliance) Doc() bson.D {
	doc := bson.D{{Key: "balancerCompliant", Value: c.Compliant}}
	if c.ChunkSizeMB != 0 {
		doc = append(bson.D{{Key: "chunkSize", Value: c.ChunkSizeMB}}, doc...)
	}
	if c.Compliant {
		return doc
	}
	doc = append(doc, bson.E{Key: "firstComplianceViolation", Value: c.Violation})
	if c.Details == nil {
		return doc
	}
	return append(doc, bson.E{Key: "details", Value: c.Details.doc()})
}

func (d *Defragmentation) doc() bson.D {
	if d.Phase == "" {
		return bson.D{{Key: "currentPhase", Value: "none"}}
	}
	return bson.D{
		{Key: "currentPhase", Value: d.Phase},
		{Key: "progress", Value: bson.D{{Key: "remainingChunksToProcess", Value: d.RemainingChunks}}},
	}
}
