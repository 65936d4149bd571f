package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// explained finds what a dry run of the balancer's choice stumbles over, in each
// collection whose chunks and sizes were read.
func (d *Diagnosis) explained() (list []Finding) {
	for i, c := range Sharded(d.Snapshot) {
		if report := d.explain(c); report != nil {
			list = append(list, d.ofDecisions(report, c.Namespace)...)
			list = append(list, waitsForDefragmentation(d.Balances[i], report)...)
			if d.Balances[i].Known && !d.Balances[i].Balanced {
				list = append(list, d.ofDeletions(c, report)...)
			}
		}
	}
	return list
}

// explainBalance adds to what is not balanced what the rules compare for the first
// move, with the distance to the threshold, when a server said no more than that.
func (d *Diagnosis) explainBalance(f Finding) Finding {
	c := d.Collection(f.Scope.Namespace)
	if _, there := f.Number("donor"); there || c == nil {
		return f
	}
	report := d.explain(c)
	if report == nil {
		return f
	}
	for first := range report.Chosen() {
		n := first.Numbers
		f.Numbers = append(slices.Clip(f.Numbers), comparedBy(n)...)
		if first.Shard != "" && n.Unit != policy.Chunks && n.Threshold > 0 {
			f.Sentence += fmt.Sprintf(": %s has %s, %s has %s", first.Shard, humanize.Bytes(n.Donor), first.Recipient,
				humanize.Bytes(n.Recipient))
		}
		break
	}
	return f
}

// explain tries what the balancer would choose; nil where that can't be known.
func (d *Diagnosis) explain(c *catalog.CollectionState) *policy.Report {
	if c.Table == nil || len(c.Sizes) == 0 && d.Release().BalancesBySize() {
		return nil
	}
	report, err := policy.Explain(policy.ExplainInput{
		Collection: c.Collection, Settings: d.Settings(), Now: d.BalancerTime(), Situation: situation(d.Snapshot, c),
	})
	if err != nil {
		return nil
	}
	return report
}

// waitsForDefragmentation finds that chunks would move if the collection were not
// being defragmented, which servers don't call a violation.
func waitsForDefragmentation(b Balance, report *policy.Report) []Finding {
	if !b.Defragmentation.Running {
		return nil
	}
	for range report.Chosen() {
		return []Finding{finding(NotBalanced, Scope{Namespace: b.Namespace}, b.Namespace+" is not balanced yet")}
	}
	return nil
}

// stumbled are the codes of decisions that keep something from its place.
var stumbled = []Code{
	UnalignedZones, NoSizeEntry, ZoneWithoutShards, NoRecipient, ShardFull, LargestOutsideZone, NoChunkInZone,
	OnlyJumboChunks,
}

func (d *Diagnosis) ofDecisions(report *policy.Report, ns string) (list []Finding) {
	for decision := range report.Rejected() {
		if !slices.Contains(stumbled, decision.Code) || d.harmless(decision) || passing(decision) {
			continue
		}
		f := finding(decision.Code, Scope{Namespace: ns, Shard: decision.Shard, Zone: decision.Zone},
			ns+": "+inside(decision.Text())+d.faultOf(decision), d.commandsFor(decision)...)
		f.Numbers = comparedBy(decision.Numbers)
		if f.Code == UnalignedZones { // a finding of its own says what keeps the balancer from it
			f.Commands, f.Instead = nil, f.Commands
		}
		if !slices.ContainsFunc(list, func(have Finding) bool { return sameThing(have, f) }) {
			list = append(list, f)
		}
	}
	return list
}

// passing reports whether only what a round has already chosen keeps a chunk from a
// shard: in the next one that is free again.
func passing(d policy.Decision) bool { return d.Code == NoRecipient && d.Ineligible.Busy > 0 }

// inside makes a sentence a part of another.
func inside(sentence string) string {
	return strings.ToLower(sentence[:1]) + strings.TrimSuffix(sentence[1:], ".")
}

// commandsFor returns what the operator would enter about a decision.
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
		return alignments(c)
	case LargestOutsideZone, NoChunkInZone:
		return evenByHand(d.Snapshot, c, of.Zone)
	}
	return nil
}

// faultOf names the fault of the server that is behind a decision, and the release that has
// the fix.
func (d *Diagnosis) faultOf(of policy.Decision) string {
	r := d.Release()
	if of.Code != LargestOutsideZone || r.DonorBelongsToZone() {
		return ""
	}
	return fmt.Sprintf("; this is SERVER-115962, a fault of %s: upgrade to %s, or move by hand", r, r.FirstWithDonorFix())
}

// harmless reports whether a zone that another one hides from the balancer has
// nothing to be evened out.
func (d *Diagnosis) harmless(of policy.Decision) bool {
	return (of.Code == LargestOutsideZone || of.Code == NoChunkInZone) && d.commandsFor(of) == nil
}

// evenByHand moves data of a zone from its largest shard to its smallest one,
// which nothing forbids where rounds don't get to it. It is nothing for a zone
// whose own shards are even.
func evenByHand(s *catalog.Snapshot, c *catalog.CollectionState, zone string) []string {
	var of []Share
	for _, one := range Spreads(s, c) {
		if one.Zone == zone {
			of = inZone(c, one)
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
		if from.Bytes-to.Bytes < 3*c.DataSizes(s.Settings().MaxChunkSizeBytes).MaxChunkSizeBytes {
			return nil
		}
		for chunk := range c.Table.OwnedChunks(from.Shard, catalog.Key{}, catalog.Key{}) {
			if from.Shard != to.Shard && chunk.Jumbo != catalog.JumboTrue && c.Zones.ZoneOf(chunk.Min, chunk.Max) == zone {
				bound := humanize.Literal(c.Pattern.Bound(chunk.Min))
				if !s.Release().AtLeast(catalog.Release60) {
					return []string{fmt.Sprintf("sh.moveChunk(%q, %s, %q)", c.Namespace, bound, string(to.Shard))}
				}
				return []string{fmt.Sprintf("sh.moveRange(%q, %q, %s)", c.Namespace, string(to.Shard), bound)}
			}
		}
	}
	return nil
}

// inZone returns those of the shards that have chunks of the zone, or nothing at
// all: what others have may be of another zone.
func inZone(c *catalog.CollectionState, of Spread) (list []Share) {
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

// alignmentsShown is how many splits a finding has commands for.
const alignmentsShown = 5

// alignments returns the splits at the bounds of zones that lie inside a chunk.
func alignments(c *catalog.CollectionState) (list []string) {
	for _, z := range c.Zones.Ranges() {
		for _, bound := range []catalog.Key{z.Min, z.Max} {
			if len(list) == alignmentsShown || !bound.Less(c.Pattern.GlobalMax()) || c.Table.HasLowerBound(bound) {
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

// holdCodes are those of the flags that keep the balancer from a collection.
var holdCodes = map[Hold]Code{HeldNoBalance: BalancingOff, HeldNoMigrations: MigrationsForbidden,
	HeldFrozen: ChunksFrozen}

// notes find what looks wrong and is not.
func (d *Diagnosis) notes() (list []Finding) {
	for i, c := range Sharded(d.Snapshot) {
		if d.Balances[i].Known && d.Balances[i].Balanced {
			list = append(list, d.looksUneven(c)...)
		}
	}
	return slices.Concat(list, Versions(d.Snapshot), d.behind())
}

// uneven is how much more the fullest shard has than the emptiest before people
// ask why.
const uneven = 1.5

// looksUneven finds balanced collections that don't look it: those below the
// threshold, and those that are even by what the release doesn't count.
func (d *Diagnosis) looksUneven(c *catalog.CollectionState) []Finding {
	bytes, chunks := spread{}, spread{}
	for _, shard := range d.Shards() {
		if data, known := d.OwnedData(c, shard); known && !shard.Draining {
			bytes.add(shard.ID, data.Bytes)
			chunks.add(shard.ID, c.CountOn(shard.ID).Chunks)
		}
	}
	scope := Scope{Namespace: c.Namespace}
	bySize := d.Release().BalancesBySize()
	switch {
	case bySize && bytes.uneven():
		threshold := 3 * c.DataSizes(d.Settings().MaxChunkSizeBytes).MaxChunkSizeBytes
		if bytes.most-bytes.least >= threshold {
			return nil // by zones: the balancer compares within them
		}
		f := finding(BelowThreshold, scope, fmt.Sprintf("%s has %s on %s and %s on %s, which is balanced: "+
			"the threshold is a difference of %s", c.Namespace, humanize.Bytes(bytes.most), bytes.fullest,
			humanize.Bytes(bytes.least), bytes.emptiest, humanize.Bytes(threshold)))
		f.Numbers = []Number{{"most", bytes.most, Bytes}, {"least", bytes.least, Bytes}, {"threshold", threshold, Bytes}}
		return []Finding{f}
	case bySize && chunks.uneven():
		f := finding(CountsUneven, scope, fmt.Sprintf("%s has %s on %s and %s on %s, which is balanced: "+
			"since 6.0 the balancer compares data sizes, not chunk counts", c.Namespace, humanize.Count(chunks.most, "chunk"),
			chunks.fullest, humanize.Count(chunks.least, "chunk"), chunks.emptiest))
		f.Numbers = numbered("most", chunks.most, Number{Name: "least", Value: chunks.least})
		return []Finding{f}
	case !bySize && bytes.uneven():
		f := finding(BalancesByCount, scope, fmt.Sprintf("%s has %s on %s and %s on %s, which is balanced: "+
			"before 6.0 the balancer compares chunk counts, not data sizes", c.Namespace, humanize.Bytes(bytes.most),
			bytes.fullest,
			humanize.Bytes(bytes.least), bytes.emptiest))
		f.Numbers = []Number{{"most", bytes.most, Bytes}, {"least", bytes.least, Bytes}}
		return []Finding{f}
	}
	return nil
}

// spread is the most and the least that shards have of something.
type spread struct {
	most, least       int64
	fullest, emptiest catalog.ShardID
}

func (s *spread) add(id catalog.ShardID, n int64) {
	if s.fullest == "" || n > s.most {
		s.most, s.fullest = n, id
	}
	if s.emptiest == "" || n < s.least {
		s.least, s.emptiest = n, id
	}
}

func (s *spread) uneven() bool { return s.most > 1 && float64(s.most) > uneven*float64(s.least) }

// routerAlive is how old the last ping of a mongos may be that still runs.
const routerAlive = 10 * time.Minute
