package diagnosis

import (
	"fmt"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/policy"
)

// ChunkAnswer says why one chunk is on its shard.
type ChunkAnswer struct {
	Answer
	Pattern catalog.KeyPattern
	Chunk   catalog.Chunk
	Zone    string // empty for none
	// Decisions are the decisions that a round would make about the chunk now, in order.
	Decisions []policy.Decision
	// Verdicts says for each shard, by id, whether the shard could receive the chunk.
	Verdicts []RecipientVerdict
}

// RecipientVerdict says whether a shard could receive a chunk.
type RecipientVerdict struct {
	Shard catalog.ShardID `json:"shard"`
	// CanReceive says that nothing keeps the shard from receiving the chunk. Reason says what does.
	CanReceive bool   `json:"can"`
	Reason     string `json:"reason"`
	// CollectionBytes is the size of the collection on the shard; -1 when the shard did not report it.
	CollectionBytes int64 `json:"bytes"`
}

// WhyChunk returns why the chunk that contains a key is on its shard. The collection must be sharded,
// and its chunks must have been read.
func WhyChunk(s *catalog.Snapshot, c *catalog.CollectionState, key catalog.Key) ChunkAnswer {
	a := ChunkAnswer{Answer: Why(s, Scope{Namespace: c.Namespace}), Pattern: c.Pattern}
	for chunk := range c.Table.Overlapping(key, catalog.Key{}) {
		a.Chunk = chunk
		break
	}
	a.About.Chunk = a.Chunk.Min
	a.Zone = c.Zones.ZoneOf(a.Chunk.Min, a.Chunk.Max)
	d := &Diagnosis{Snapshot: s}
	if report := d.tryDecisions(c); report != nil {
		for decision := range report.AboutChunk(c.Namespace, a.Chunk, a.Zone) {
			if decision.Code == policy.OtherChunkFirst && a.Chunk.Jumbo == catalog.JumboTrue {
				decision.Code, decision.Min, decision.Max = policy.JumboFlag, a.Chunk.Min, a.Chunk.Max // overrides other codes
			}
			a.Decisions = append(a.Decisions, decision)
		}
		a.Decisions = slices.CompactFunc(a.Decisions, func(d, next policy.Decision) bool {
			return d.Code == policy.JumboFlag && next.Code == d.Code
		})
	}
	for _, shard := range s.Shards() {
		v := newVerdict(s, c, shard, a.Chunk, a.Zone)
		if v.CanReceive {
			v.CanReceive, v.Reason = d.canReceiveNow(c, shard.ID, a.Chunk)
		}
		a.Verdicts = append(a.Verdicts, v)
	}
	return a
}

// canReceiveNow reports whether no temporary obstacle keeps a shard from receiving a chunk
// now.
func (d *Diagnosis) canReceiveNow(
	c *catalog.CollectionState, id catalog.ShardID, chunk catalog.Chunk,
) (can bool, reason string) {
	for _, m := range d.Parts().Migrations {
		if m.From == id || m.To == id {
			return false, fmt.Sprintf("takes part in the migration of %s from %s to %s", m.Namespace, m.From, m.To)
		}
	}
	for _, left := range d.deletionsWithDocuments(c) {
		if left.Shard == id && left.Overlaps(c.Pattern, chunk.Min, chunk.Max) {
			reason = "is waiting for range deletion"
			if !left.due.IsZero() {
				reason += ", due " + humanize.Time(left.due.UTC())
			}
			return false, reason
		}
	}
	return true, "can receive it"
}

func newVerdict(
	s *catalog.Snapshot, c *catalog.CollectionState, shard catalog.ShardState, chunk catalog.Chunk, zone string,
) RecipientVerdict {
	v := RecipientVerdict{Shard: shard.ID, CollectionBytes: -1}
	data, measured := s.OwnedData(c, shard)
	if measured {
		v.CollectionBytes = data.Bytes
	}
	switch {
	case shard.ID == chunk.Shard:
		v.Reason = "has the chunk"
	case shard.Unreachable != "":
		v.Reason = "does not answer"
	case shard.Draining:
		v.Reason = "is draining"
	case zone != catalog.NoZone && !shard.HasZone(zone):
		v.Reason = "does not belong to zone " + zone
	case shard.Full():
		v.Reason = "has reached its maxSize"
	case !measured && s.Release().BalancesBySize():
		v.Reason = "reported no size for the collection"
	default:
		v.CanReceive, v.Reason = true, "can receive it"
	}
	return v
}

// Headline returns the answer in one line, without a full stop.
func (a ChunkAnswer) Headline() string {
	where := fmt.Sprintf("the chunk is on %s", a.Chunk.Shard)
	if a.Zone != catalog.NoZone {
		where += ", in zone " + a.Zone
	}
	hindered := ""
	for _, d := range a.Decisions {
		subject := d.Code.Info().Subject
		switch {
		case d.IsChosen() && d.Min.Equal(a.Chunk.Min) && hindered != "":
			return fmt.Sprintf("%s, and would move to %s, but %s", where, d.Recipient, hindered)
		case d.IsChosen() && d.Min.Equal(a.Chunk.Min):
			return fmt.Sprintf("%s, and moves to %s next: %s", where, d.Recipient, asClause(d.Text()))
		case hindered == "" && (subject == policy.SubjectCluster || subject == policy.SubjectCollection):
			hindered = asClause(d.Text())
		}
	}
	if d, ok := a.decisiveDecision(); ok {
		return where + ", and stays: " + asClause(d.Text())
	}
	return where + ", and nothing requires it to move"
}

// decisiveDecision returns the decision that best explains why a chunk stays: the first one about the chunk, or
// else the last one.
func (a ChunkAnswer) decisiveDecision() (d policy.Decision, ok bool) {
	n := len(a.Decisions)
	if n == 0 {
		return d, false
	}
	for _, d := range a.Decisions {
		if d.Code.Info().Subject == policy.SubjectChunk && !d.IsChosen() {
			return d, true
		}
	}
	return a.Decisions[n-1], true
}
