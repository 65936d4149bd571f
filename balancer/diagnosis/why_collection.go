package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// decisionFindings returns the obstacles that a dry run of the balancer's selection meets, in each
// collection whose chunks and sizes were read.
func (d *Diagnosis) decisionFindings() (list []Finding) {
	for i, c := range Sharded(d.Snapshot) {
		if report := d.tryDecisions(c); report != nil {
			list = append(list, d.rejectedFindings(report, c.Namespace)...)
			list = append(list, blockedByDefragmentation(d.Balances[i], report)...)
			if d.Balances[i].Known && !d.Balances[i].Balanced {
				list = append(list, d.deletionFindings(c, report)...)
			}
		}
	}
	return list
}

// withComparison adds to a finding about an unbalanced collection the numbers that the rules compare
// for the first move, and the distance to the threshold, if the server reported no more than the
// violation.
func (d *Diagnosis) withComparison(f Finding) Finding {
	c := d.Collection(f.Scope.Namespace)
	if _, ok := f.Number("donor"); ok || c == nil {
		return f
	}
	report := d.tryDecisions(c)
	if report == nil {
		return f
	}
	for first := range report.Chosen() {
		n := first.Numbers
		f.Numbers = append(slices.Clip(f.Numbers), comparedNumbers(n)...)
		if first.Shard != "" && n.Unit != policy.UnitChunks && n.Threshold > 0 {
			f.Sentence += fmt.Sprintf(": %s has %s, %s has %s", first.Shard, humanize.Bytes(n.Donor), first.Recipient,
				humanize.Bytes(n.Recipient))
		}
		break
	}
	return f
}

// tryDecisions runs the balancer's selection; it returns nil where the data for that is missing.
func (d *Diagnosis) tryDecisions(c *catalog.CollectionState) *policy.Report {
	if c.Table == nil || len(c.Sizes) == 0 && d.Release().BalancesBySize() {
		return nil
	}
	report, err := policy.Explain(policy.ExplainInput{
		Collection: c.Collection, Settings: d.Settings(), Now: d.BalancerTime(), Situation: newSituation(d.Snapshot, c),
	})
	if err != nil {
		return nil
	}
	return report
}

// blockedByDefragmentation finds chunks that would move if the collection were not being defragmented.
// Servers do not report those as a violation.
func blockedByDefragmentation(b Balance, report *policy.Report) []Finding {
	if !b.Defragmentation.Running {
		return nil
	}
	for range report.Chosen() {
		return []Finding{finding(NotBalanced, Scope{Namespace: b.Namespace}, b.Namespace+" is not balanced yet")}
	}
	return nil
}

// obstacleCodes are the codes of decisions that keep a chunk on the wrong shard.
var obstacleCodes = []Code{
	UnalignedZones, NoSizeEntry, ZoneWithoutShards, NoRecipient, ShardAtMaxSize, LargestOutsideZone, NoChunkInZone,
	OnlyJumboChunks,
}

func (d *Diagnosis) rejectedFindings(report *policy.Report, ns string) (list []Finding) {
	for decision := range report.Rejected() {
		if !slices.Contains(obstacleCodes, decision.Code) || d.isHarmless(decision) || isTemporary(decision) {
			continue
		}
		f := finding(decision.Code, Scope{Namespace: ns, Shard: decision.Shard, Zone: decision.Zone},
			ns+": "+asClause(decision.Text())+d.knownBugText(decision), d.commandsFor(decision)...)
		f.Numbers = comparedNumbers(decision.Numbers)
		if f.Code == UnalignedZones { // another finding names the obstacle
			f.Commands, f.InsteadOfWaiting = nil, f.Commands
		}
		if !slices.ContainsFunc(list, func(have Finding) bool { return isSameFinding(have, f) }) {
			list = append(list, f)
		}
	}
	return list
}

// isTemporary reports whether only the moves that were already chosen in the round block a move. The next
// round is free of them.
func isTemporary(d policy.Decision) bool { return d.Code == NoRecipient && d.Ineligible.Busy > 0 }

// asClause converts a sentence into a clause of another sentence.
func asClause(sentence string) string {
	return strings.ToLower(sentence[:1]) + strings.TrimSuffix(sentence[1:], ".")
}

// commandsFor returns the commands for the operator about a decision.
func (d *Diagnosis) commandsFor(of policy.Decision) []string {
	c := d.Collection(of.Namespace)
	switch of.Code {
	case NoRecipient, ZoneWithoutShards:
		if of.Zone != catalog.NoZone {
			return []string{fmt.Sprintf("sh.addShardToZone(<shard>, %q)", of.Zone)}
		}
		return []string{"sh.addShard(<host>)"}
	case OnlyJumboChunks:
		return jumboCommands(c)
	case UnalignedZones:
		return alignmentCommands(c)
	case LargestOutsideZone, NoChunkInZone:
		return evenOutCommands(d.Snapshot, c, of.Zone)
	}
	return nil
}

// knownBugText names the server bug that causes a decision, and the release that has
// the fix.
func (d *Diagnosis) knownBugText(of policy.Decision) string {
	r := d.Release()
	if of.Code != LargestOutsideZone || r.DonorBelongsToZone() {
		return ""
	}
	return fmt.Sprintf("; this is SERVER-115962, a fault of %s: upgrade to %s, or move by hand", r, r.FirstWithDonorFix())
}

// isHarmless reports whether a zone that another zone hides from the balancer is even anyway.
func (d *Diagnosis) isHarmless(of policy.Decision) bool {
	return (of.Code == LargestOutsideZone || of.Code == NoChunkInZone) && d.commandsFor(of) == nil
}

// evenOutCommands returns the commands that move data of a zone from its largest shard to its smallest
// one. An operator may run them where rounds do not reach the zone. It returns none for a zone that is
// even.
func evenOutCommands(s *catalog.Snapshot, c *catalog.CollectionState, zone string) []string {
	var of []Share
	for _, one := range Spreads(s, c) {
		if one.Zone == zone {
			of = zoneShares(c, one)
		}
	}
	of = slices.DeleteFunc(of, func(one Share) bool {
		shard, _ := s.Shard(one.Shard)
		return shard.Draining || shard.Unreachable != ""
	})
	if len(of) < 2 {
		return nil
	}
	by := func(a, b Share) int { return cmp.Compare(a.Bytes, b.Bytes) }
	slices.SortStableFunc(of, func(a, b Share) int { return by(b, a) })
	to := of[len(of)-1]
	for _, from := range of {
		if from.Bytes-to.Bytes < 3*c.ChunkSize(s.Settings()) {
			return nil
		}
		for chunk := range c.Table.OwnedChunks(from.Shard, catalog.Key{}, catalog.Key{}) {
			if from.Shard != to.Shard && chunk.Jumbo != catalog.JumboTrue && c.Zones.ZoneOf(chunk.Min, chunk.Max) == zone {
				bound := humanize.Literal(c.Pattern.Bound(chunk.Min))
				if !s.Release().FCVAtLeast(catalog.Release60) {
					return []string{fmt.Sprintf("sh.moveChunk(%q, %s, %q)", c.Namespace, bound, string(to.Shard))}
				}
				return []string{fmt.Sprintf("sh.moveRange(%q, %q, %s)", c.Namespace, string(to.Shard), bound)}
			}
		}
	}
	return nil
}

// zoneShares returns the shares of the shards without chunks and of those with a chunk in the zone.
// Data of other shards may belong to another zone.
func zoneShares(c *catalog.CollectionState, of Spread) (list []Share) {
	for _, share := range of.Shards {
		has := share.Chunks == 0
		for chunk := range c.Table.OwnedChunks(share.Shard, catalog.Key{}, catalog.Key{}) {
			if has = has || c.Zones.ZoneOf(chunk.Min, chunk.Max) == of.Zone; has {
				break
			}
		}
		if has {
			list = append(list, share)
		}
	}
	return list
}

// maxAlignments is the maximum number of splits for which a finding has commands.
const maxAlignments = 5

// alignmentCommands returns the splits at the bounds of zones that lie inside a chunk.
func alignmentCommands(c *catalog.CollectionState) (list []string) {
	for _, z := range c.Zones.Ranges() {
		for _, bound := range []catalog.Key{z.Min, z.Max} {
			if len(list) == maxAlignments || !bound.Less(c.Pattern.GlobalMax()) || c.Table.HasLowerBound(bound) {
				continue
			}
			command := fmt.Sprintf("sh.splitAt(%q, %s)", c.Namespace, humanize.Literal(c.Pattern.Bound(bound)))
			if !slices.Contains(list, command) {
				list = append(list, command)
			}
		}
	}
	return list
}

// disabledCodes maps the flags that keep the balancer from a collection to their codes.
var disabledCodes = map[DisabledBy]Code{DisabledNoBalance: BalancingOff, DisabledNoMigrations: MigrationsForbidden,
	DisabledChunkOperations: ChunkOperationsForbidden}

// harmlessFindings returns findings that look like problems but are not.
func (d *Diagnosis) harmlessFindings() (list []Finding) {
	for i, c := range Sharded(d.Snapshot) {
		if d.Balances[i].Known && d.Balances[i].Balanced {
			list = append(list, d.looksUnevenFindings(c)...)
		}
	}
	return slices.Concat(list, VersionFindings(d.Snapshot), d.fcvFindings())
}

// unevenRatio is the ratio of the largest to the smallest shard from which operators tend to ask why.
const unevenRatio = 1.5

// looksUnevenFindings finds balanced collections that look uneven: differences below the threshold, and
// differences in a quantity that the release does not compare.
func (d *Diagnosis) looksUnevenFindings(c *catalog.CollectionState) []Finding {
	bytes, chunks := extremes{}, extremes{}
	for _, shard := range d.Shards() {
		if data, known := d.OwnedData(c, shard); known && !shard.Draining {
			bytes.add(shard.ID, data.Bytes)
			chunks.add(shard.ID, c.CountOn(shard.ID).Chunks)
		}
	}
	scope := Scope{Namespace: c.Namespace}
	bySize := d.Release().BalancesBySize()
	switch {
	case bySize && bytes.isUneven():
		threshold := 3 * c.ChunkSize(d.Settings())
		if bytes.max-bytes.min >= threshold {
			return nil // with zones, the balancer compares shards within each zone
		}
		f := finding(BelowThreshold, scope, fmt.Sprintf("%s has %s on %s and %s on %s, which is balanced: "+
			"the threshold is a difference of %s", c.Namespace, humanize.Bytes(bytes.max), bytes.fullest,
			humanize.Bytes(bytes.min), bytes.emptiest, humanize.Bytes(threshold)))
		f.Numbers = []Number{{"most", bytes.max, Bytes}, {"least", bytes.min, Bytes}, {"threshold", threshold, Bytes}}
		return []Finding{f}
	case bySize && chunks.isUneven():
		f := finding(CountsUneven, scope, fmt.Sprintf("%s has %s on %s and %s on %s, which is balanced: "+
			"since 6.0 the balancer compares data sizes, not chunk counts", c.Namespace, humanize.Count(chunks.max, "chunk"),
			chunks.fullest, humanize.Count(chunks.min, "chunk"), chunks.emptiest))
		f.Numbers = countNumbers("most", chunks.max, Number{Name: "least", Value: chunks.min})
		return []Finding{f}
	case !bySize && bytes.isUneven():
		f := finding(BalancesByCount, scope, fmt.Sprintf("%s has %s on %s and %s on %s, which is balanced: "+
			"before 6.0 the balancer compares chunk counts, not data sizes", c.Namespace, humanize.Bytes(bytes.max),
			bytes.fullest,
			humanize.Bytes(bytes.min), bytes.emptiest))
		f.Numbers = []Number{{"most", bytes.max, Bytes}, {"least", bytes.min, Bytes}}
		return []Finding{f}
	}
	return nil
}

// extremes holds the maximum and minimum over the shards.
type extremes struct {
	max, min          int64
	fullest, emptiest catalog.ShardID
}

func (e *extremes) add(id catalog.ShardID, n int64) {
	if e.fullest == "" || n > e.max {
		e.max, e.fullest = n, id
	}
	if e.emptiest == "" || n < e.min {
		e.min, e.emptiest = n, id
	}
}

func (e *extremes) isUneven() bool { return e.max > 1 && float64(e.max) > unevenRatio*float64(e.min) }
