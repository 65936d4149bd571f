package placement

import (
	"slices"

	"shardsh/balancer/catalog"
)

// serverKinds are the types of checkMetadataConsistency, as kinds of findings. Others are
// Metadata.
var serverKinds = map[string]Kind{
	"CollectionOptionsMismatch": OptionsDiffer,
	"CollectionUUIDMismatch":    UUIDDiffers,
	"CorruptedChunkShardKey":    ChunkInvalid,
	"CorruptedZoneShardKey":     ZoneInvalid,
	"InconsistentIndex":         IndexDiffers,
	"MisplacedCollection":       Misplaced,
	"MissingLocalCollection":    Absent,
	"MissingShardKeyIndex":      IndexMissing,
	"RoutingTableMissingMaxKey": ChunkGap,
	"RoutingTableMissingMinKey": ChunkGap,
	"RoutingTableRangeGap":      ChunkGap,
	"RoutingTableRangeOverlap":  ChunkOverlap,
	"ZonesRangeOverlap":         ZoneOverlap,
}

// equivalentKinds are kinds that may be told in place of each other: a missing index is an inconsistent
// one for servers.
var equivalentKinds = map[Kind][]Kind{
	IndexDiffers: {IndexDiffers, IndexMissing},
	IndexMissing: {IndexMissing, IndexDiffers},
}

// MergeInconsistencies adds the results of checkMetadataConsistency to findings, without duplicates. What it
// reports of several shards in the same words is one finding.
func MergeInconsistencies(found []Finding, reported []catalog.Inconsistency) []Finding {
	own := len(found)
	for _, r := range reported {
		kind, mapped := serverKinds[r.Type]
		if !mapped {
			kind = Metadata
		}
		same := equivalentKinds[kind]
		if same == nil {
			same = []Kind{kind}
		}
		known := mapped && slices.ContainsFunc(found, func(f Finding) bool {
			return f.Namespace == r.Namespace && slices.Contains(same, f.Kind) &&
				(r.Shard == "" || len(f.Shards) == 0 || slices.Contains(f.Shards, r.Shard))
		})
		if known {
			continue
		}
		f := Finding{
			Kind:      kind,
			Namespace: r.Namespace,
			Count:     1,
			Text:      r.Type + ": " + r.Description,
			Mend:      repairReported(),
		}
		if r.Shard != "" {
			f.Shards = []catalog.ShardID{r.Shard}
		}
		if other := findSameText(found[own:], f); other != nil {
			other.Shards = append(other.Shards, r.Shard)
			continue
		}
		found = append(found, f)
	}
	return found
}

// findSameText returns the finding that reports the same for other shards; nil for none.
func findSameText(found []Finding, f Finding) *Finding {
	i := slices.IndexFunc(found, func(o Finding) bool {
		return o.Kind == f.Kind && o.Namespace == f.Namespace && o.Text == f.Text && len(o.Shards) > 0 && len(f.Shards) > 0 &&
			!slices.Contains(o.Shards, f.Shards[0])
	})
	if i < 0 {
		return nil
	}
	return &found[i]
}
