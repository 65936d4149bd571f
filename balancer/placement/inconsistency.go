package placement

import (
	"slices"

	"shardsh/balancer/catalog"
)

// serverKinds maps the types of checkMetadataConsistency to kinds of findings. Other types become
// OtherInconsistency.
var serverKinds = map[string]FindingKind{
	"CollectionOptionsMismatch": OptionsDiffer,
	"CollectionUUIDMismatch":    UUIDDiffers,
	"CorruptedChunkShardKey":    ChunkInvalid,
	"CorruptedZoneShardKey":     ZoneInvalid,
	"InconsistentIndex":         IndexDiffers,
	"MisplacedCollection":       CollectionMisplaced,
	"MissingLocalCollection":    CollectionAbsent,
	"MissingShardKeyIndex":      IndexMissing,
	"RoutingTableMissingMaxKey": ChunkGap,
	"RoutingTableMissingMinKey": ChunkGap,
	"RoutingTableRangeGap":      ChunkGap,
	"RoutingTableRangeOverlap":  ChunkOverlap,
	"ZonesRangeOverlap":         ZoneOverlap,
}

// equivalentKinds are kinds that the server may report in place of each other: servers report a missing
// index as inconsistent.
var equivalentKinds = map[FindingKind][]FindingKind{
	IndexDiffers: {IndexDiffers, IndexMissing},
	IndexMissing: {IndexMissing, IndexDiffers},
}

// MergeInconsistencies adds the results of checkMetadataConsistency to findings, without duplicates.
// Results with the same text for several shards become one finding.
func MergeInconsistencies(found []Finding, reported []catalog.Inconsistency) []Finding {
	own := len(found)
	for _, r := range reported {
		kind, mapped := serverKinds[r.Type]
		if !mapped {
			kind = OtherInconsistency
		}
		same := equivalentKinds[kind]
		if same == nil {
			same = []FindingKind{kind}
		}
		known := mapped && slices.ContainsFunc(found, func(f Finding) bool {
			return f.Namespace == r.Namespace && slices.Contains(same, f.Kind) &&
				(r.Shard == "" || len(f.Shards) == 0 || slices.Contains(f.Shards, r.Shard))
		})
		if known {
			continue
		}
		f := Finding{
			Kind:           kind,
			Namespace:      r.Namespace,
			Count:          1,
			Text:           r.Type + ": " + r.Description,
			RepairCommands: commandsForReported(),
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

// findSameText returns the finding with the same text for other shards; nil for none.
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
