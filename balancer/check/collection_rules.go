package check

import (
	"fmt"
	"math"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/policy"
)

// The rules about each collection.

// checkCompliant uses the server's reply or, without one, the rules of the release. It assumes that a
// collection with disabled balancing is disabled on purpose.
func (rr *ruleRun) checkCompliant() {
	for _, b := range rr.Balances {
		c := rr.Collection(b.Namespace)
		scope := diagnosis.Scope{Namespace: b.Namespace}
		switch {
		case !rr.policy.Namespaces.Match(b.Namespace):
		case !b.Known:
			rr.addUnknown(scope, "whether %s is balanced is unknown: %s", b.Namespace, rr.unknownReason(b))
		case b.Balanced:
		case b.DisabledBy != diagnosis.NotDisabled:
			rr.add(Finding{About: scope, Excuse: rr.excuse(c), Sentence: fmt.Sprintf("%s is not balanced (%s), but %s for it",
				b.Namespace, b.ViolationText(), b.DisabledBy)})
		default:
			rr.add(Finding{About: scope, Excuse: rr.excuse(c),
				Sentence: fmt.Sprintf("%s is not balanced (%s)", b.Namespace, b.ViolationText())})
		}
	}
}

// unknownReason returns why the balance is unknown. It prefers the server's error over the data that
// the rules lack.
func (rr *ruleRun) unknownReason(b diagnosis.Balance) string {
	for _, gap := range rr.Parts().Source.Gaps {
		if gap.What == "balance" && (gap.Namespace == b.Namespace || gap.Namespace == "") {
			return gap.Reason
		}
	}
	return b.Reason
}

func (rr *ruleRun) checkJumbo() {
	if rr.reportGap("chunks") {
		return
	}
	for _, f := range rr.FindingsWithCodes(diagnosis.JumboChunks) {
		n, _ := f.Number("jumboChunks")
		if ns := f.Scope.Namespace; rr.policy.Namespaces.Match(ns) {
			found := fromDiagnosis(f)
			found.Excuse = rr.excuse(rr.Collection(ns))
			rr.addIfOverMax(countQuantity(n), found)
		}
	}
}

func (rr *ruleRun) checkOrphans() {
	for _, c := range rr.sizedCollections() {
		var documents, bytes int64
		for _, data := range c.Sizes {
			documents, bytes = documents+data.Orphans, bytes+data.OrphanBytes
		}
		rr.addIfOverMax(countQuantity(documents), Finding{About: diagnosis.Scope{Namespace: c.Namespace},
			Sentence: fmt.Sprintf("%s has %d orphaned documents of %s", c.Namespace, documents, humanize.Bytes(float64(bytes)))})
	}
}

// sizedCollections returns the collections whose sizes are known, and adds an unknown finding for the
// others.
func (rr *ruleRun) sizedCollections() []*catalog.CollectionState {
	if rr.reportGap("sizes") {
		return nil
	}
	return slices.DeleteFunc(rr.policyCollections(), func(c *catalog.CollectionState) bool {
		for _, gap := range rr.Parts().Source.Gaps {
			if gap.What == "sizes" && gap.Namespace == c.Namespace {
				rr.addUnknown(diagnosis.Scope{Namespace: c.Namespace}, "the sizes of %s could not be read: %s", c.Namespace,
					gap.Reason)
				return true
			}
		}
		return len(c.Sizes) == 0 // the collection has no data
	})
}

// checkUneven compares each shard with its fair share. A deviation in percent counts only where the
// balancer would also call the collection uneven, because small collections are never even.
func (rr *ruleRun) checkUneven() {
	for _, c := range rr.sizedCollections() {
		deviations := Deviations(rr.Snapshot, c)
		if deviations == nil {
			continue
		}
		worst := slices.MaxFunc(deviations, func(a, b Deviation) int { return cmpAbs(a.ExcessBytes, b.ExcessBytes) })
		off := Quantity{math.Abs(worst.ExcessBytes), diagnosis.Bytes}
		if rr.choice.Max.Unit == Percent {
			if off.Value < policy.ImbalanceFactor*float64(rr.chunkSize(c)) {
				continue
			}
			off = Quantity{math.Abs(worst.ExcessPercent), Percent}
		}
		side := "above"
		if worst.ExcessBytes < 0 {
			side = "below"
		}
		rr.addIfOverMax(off, Finding{
			About:  diagnosis.Scope{Namespace: c.Namespace, Shard: worst.Shard},
			Excuse: rr.excuse(c),
			Sentence: fmt.Sprintf("shard %s has %s of %s, %s %s its fair share of %s", worst.Shard,
				humanize.Bytes(worst.ActualBytes), c.Namespace, off, side, humanize.Bytes(worst.ShareBytes)),
		})
	}
}

// chunkSize returns the chunk size in force in bytes.
func (rr *ruleRun) chunkSize(c *catalog.CollectionState) int64 {
	return c.ChunkSize(rr.Settings())
}

// toleratedChunks is how many surplus chunks checkFragmentation tolerates.
const toleratedChunks = 20

// checkFragmentation compares the number of chunks with the number that the data needs: one chunk for
// each shard and zone range, and as many as the data fills.
func (rr *ruleRun) checkFragmentation() {
	if rr.reportGap("chunks") {
		return
	}
	for _, c := range rr.sizedCollections() {
		if c.Namespace == policy.SessionsNamespace { // up to 6.0 the server splits it into 1,024 chunks
			continue
		}
		var bytes int64
		for _, data := range c.Sizes {
			bytes += data.Bytes
		}
		has := c.Count().Chunks
		needs := int64(len(c.Owners())) + 2*int64(rr.zoneRangeCount(c)) + bytes/max(1, rr.chunkSize(c))
		if has-needs <= toleratedChunks {
			continue
		}
		share := Quantity{100 * float64(has-needs) / float64(has), Percent}
		rr.addIfOverMax(share, Finding{About: diagnosis.Scope{Namespace: c.Namespace}, Excuse: rr.excuse(c),
			Sentence: fmt.Sprintf("%s has %d chunks and needs %d: %s of them could be merged",
				c.Namespace, has, needs, share),
			Commands: []string{defragmentCommand(rr.Release(), c.Namespace)}})
	}
}

// defragmentCommand returns the helper that merges chunks: the server's defragmentation, or that of
// shardsh.
func defragmentCommand(release catalog.Release, ns string) string {
	if release.Defragments() {
		return fmt.Sprintf("sh.defragment(%q)", ns)
	}
	return fmt.Sprintf("sh.defragment(%q, { pauseBalancing: true })", ns)
}

// zoneRangeCount counts the zone ranges of a collection.
func (rr *ruleRun) zoneRangeCount(c *catalog.CollectionState) (n int) {
	for _, z := range diagnosis.Zones(rr.Snapshot, c.Namespace) {
		n += len(z.Ranges)
	}
	return n
}
