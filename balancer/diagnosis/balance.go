package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Balance is whether a collection is balanced.
type Balance struct {
	Namespace string
	// Known is false when the balance is unknown; Reason says why.
	Known  bool
	Reason string
	// Balanced: the balancer would leave the collection as it is. Else Violation
	// is the first thing it would fix, in the server's words (policy.Violation…);
	// empty when the server does not say.
	Balanced  bool
	Violation string
	// Computed: by the rules of the release, for lack of an answer of the server.
	Computed bool
	// FirstMove is the first move that the rules would choose; nil unless Computed and
	// not Balanced, and where chunks have to be split or merged first.
	FirstMove *policy.Decision
	// DisabledBy is why the balancer leaves the collection alone.
	DisabledBy DisabledBy
	// ChunkSizeMB is the chunk size in force in MiB; 0 before 6.0.
	ChunkSizeMB     float64
	Defragmentation Defragmentation
}

// DisabledBy is why the balancer leaves a collection alone.
type DisabledBy uint8

// The holds. A collection can have both; switched off comes first.
const (
	NotDisabled DisabledBy = iota
	DisabledNoBalance
	DisabledNoMigrations
	DisabledFrozen
)

// String returns the hold in words, empty for NotDisabled.
func (h DisabledBy) String() string {
	return [...]string{"", "balancing is disabled", "migrations are disabled",
		"splits, merges and migrations are forbidden by the server"}[h]
}

// DisabledByOf returns why the balancer of a release leaves a collection alone.
func DisabledByOf(c catalog.Collection, r catalog.Release) DisabledBy {
	switch {
	case c.NoBalance:
		return DisabledNoBalance
	case !c.PermitMigrations, !c.AllowMigrations:
		return DisabledNoMigrations
	case c.Frozen(r):
		return DisabledFrozen
	}
	return NotDisabled
}

// ViolationText returns the violation, or that the server does not say which; empty when
// the collection is balanced.
func (b Balance) ViolationText() string {
	switch {
	case b.Balanced:
		return ""
	case b.Violation == "":
		return "the server does not say why"
	}
	return b.Violation
}

// Sharded returns the collections that are sharded, by namespace. Unsharded ones
// that the catalog tracks are not among them, nor the server's temporary ones of
// reshardings, which nobody but the resharding may touch.
func Sharded(s *catalog.Snapshot) []*catalog.CollectionState {
	return slices.DeleteFunc(slices.Clone(s.Collections()), func(c *catalog.CollectionState) bool {
		return c.Unsplittable || isReshardingTemp(c.Namespace)
	})
}

// isReshardingTemp reports whether a collection is what a resharding copies into.
func isReshardingTemp(ns string) bool {
	_, name, _ := strings.Cut(ns, ".")
	return strings.HasPrefix(name, "system.resharding.")
}

// Balances returns the balance of every sharded collection, by namespace.
func Balances(s *catalog.Snapshot) []Balance {
	sharded := Sharded(s)
	list := make([]Balance, len(sharded))
	for i, c := range sharded {
		list[i] = BalanceOf(s, c)
	}
	return list
}

// BalanceOf returns the balance of a collection: what the server reported, else
// what the rules of its release say of its chunks and sizes.
func BalanceOf(s *catalog.Snapshot, c *catalog.CollectionState) Balance {
	b := Balance{
		Namespace:       c.Namespace,
		DisabledBy:      DisabledByOf(c.Collection, s.Release()),
		Defragmentation: DefragmentationOf(c),
	}
	if _, under := ReshardingOf(s, c.Namespace); under && b.DisabledBy == DisabledNoMigrations {
		b.DisabledBy = NotDisabled // the resharding holds it, and lets it go
	}
	if r := c.Reported; r != nil {
		b.Known, b.Balanced, b.Violation, b.ChunkSizeMB = true, r.Compliant, r.Violation, r.ChunkSizeMB
		return b
	}
	var why policy.Report
	status, reason := computeCompliance(s, c, b.Defragmentation, &why)
	if gap, found := gapOf(s, c.Namespace, "zones"); found {
		reason = gap.Reason // without them all zones look fine
	} else if gap, found := gapOf(s, c.Namespace, ""); found && reason != "" {
		reason = gap.Reason
	} else if gap, found := gapOf(s, "", "balance"); found && reason != "" {
		reason = gap.Reason
	}
	if reason != "" {
		b.Reason = reason
		return b
	}
	for first := range why.Chosen() {
		b.FirstMove = &first
		break
	}
	b.Known, b.Computed = true, true
	b.Balanced, b.Violation, b.ChunkSizeMB = status.Compliant, status.Violation, status.ChunkSizeMB
	return b
}

// gapOf returns what could not be read of a collection; of anything for an empty
// what.
func gapOf(s *catalog.Snapshot, ns, what string) (gap catalog.Gap, found bool) {
	for _, gap := range s.Parts().Source.Gaps {
		if gap.Namespace == ns && (what == "" || gap.What == what) {
			return gap, true
		}
	}
	return catalog.Gap{}, false
}

// computeCompliance asks the rules of the release.
func computeCompliance(
	s *catalog.Snapshot, c *catalog.CollectionState, d Defragmentation, why *policy.Report,
) (status policy.Compliance, reason string) {
	if c.Table == nil {
		if status, even := complianceFromTotals(s, c); even {
			return status, ""
		}
		return status, "its chunks were not read"
	}
	situation := newSituation(s, c)
	var err error
	if rules := policy.RulesOf(s.Release()); rules != policy.RulesDataSize {
		status, err = policy.ExplainCountStatus(policy.CountSituation{Situation: situation, Rules: rules}, why)
	} else {
		of := policy.Defragmentation{Running: d.Running, Phase: d.Phase, RemainingChunks: max(0, d.Remaining)}
		if _, settled := policy.StatusWithoutSizes(situation, of); !settled && len(c.Sizes) == 0 {
			return status, "its data sizes were not read"
		}
		status, err = policy.ExplainStatus(situation, of, why)
	}
	if err != nil {
		return status, err.Error()
	}
	return status, ""
}

// IsBalancedByTotals reports whether a collection is balanced, without anything to explain, from how many
// chunks and bytes each shard has of it. Its routing table need not be read.
func IsBalancedByTotals(s *catalog.Snapshot, c *catalog.CollectionState) bool {
	_, even := complianceFromTotals(s, c)
	return even && c.Count().Jumbo == 0 && !c.NoBalance
}

// complianceFromTotals applies the rules to a collection of which only the chunk counts are known.
func complianceFromTotals(s *catalog.Snapshot, c *catalog.CollectionState) (status policy.Compliance, even bool) {
	if c.Defragment || s.HasZones(c) || c.Counts == nil {
		return status, false
	}
	counts := make(map[catalog.ShardID]int64, len(c.Counts))
	for id, n := range c.Counts {
		counts[id] = n.Chunks
	}
	return policy.StatusByTotals(policy.RulesOf(s.Release()), newSituation(s, c), counts)
}

// newSituation is a collection as a round would see it.
func newSituation(s *catalog.Snapshot, c *catalog.CollectionState) policy.Situation {
	settings := s.Settings()
	now := policy.Situation{
		Namespace: c.Namespace, UUID: c.UUID, Table: c.Table, Zones: c.Zones,
		Sizes: c.DataSizes(settings.MaxChunkSizeBytes), ForceJumbo: settings.AttemptJumbo, Release: s.Release(),
	}
	for _, shard := range s.Shards() {
		now.Shards = append(now.Shards, shard.Shard)
		if data, known := s.OwnedData(c, shard); known {
			now.Sizes.ByShard[shard.ID] = data.Bytes
		}
	}
	return now
}

// MisplacedBytes returns how many bytes of a collection have to move before the
// violation is gone: what lies on draining shards, or above an even share. It is
// not known where zones are, for other violations, and without sizes.
func MisplacedBytes(s *catalog.Snapshot, c *catalog.CollectionState, violation string) (bytes int64, known bool) {
	var draining, total, staying int64
	for _, shard := range s.Shards() {
		if !shard.Draining {
			staying++
		}
	}
	for id, data := range c.Sizes {
		total += data.Bytes
		if shard, there := s.Shard(id); !there || shard.Draining {
			draining += data.Bytes
		}
	}
	switch {
	case len(c.Sizes) == 0:
		return 0, false
	case violation == policy.ViolationDraining:
		return draining, true
	case violation != policy.ViolationChunksImbalance, s.HasZones(c):
		return 0, false
	}
	share := total / max(1, staying)
	for id, data := range c.Sizes {
		if shard, there := s.Shard(id); there && !shard.Draining {
			bytes += max(0, data.Bytes-share)
		}
	}
	return bytes, true
}

// collectionFindings returns the findings about each sharded collection.
func (d *Diagnosis) collectionFindings() (list []Finding) {
	for i, c := range Sharded(d.Snapshot) {
		list = append(list, balanceFindings(d.Snapshot, c, d.Balances[i])...)
		list = append(list, defragmentationFindings(c)...)
		list = append(list, UnindexedFindings(c)...)
		list = append(list, jumboFindings(c)...)
		list = append(list, orphanFindings(c)...)
	}
	return list
}

func balanceFindings(s *catalog.Snapshot, c *catalog.CollectionState, b Balance) (list []Finding) {
	scope := Scope{Namespace: c.Namespace}
	switch {
	case !b.Known:
		list = append(list, finding(BalanceUnknown, scope,
			fmt.Sprintf("unknown whether %s is balanced: %s", c.Namespace, b.Reason)))
	case !b.Balanced && b.DisabledBy == DisabledNoBalance && s.BalancingDisabledBy(c.Namespace) != nil:
		list = append(list, notBalancedPausedFinding(c.Namespace, b, s.BalancingDisabledBy(c.Namespace)))
	case !b.Balanced && b.DisabledBy != NotDisabled:
		list = append(list, finding(NotBalancedHeld, scope,
			fmt.Sprintf("%s is not balanced (%s), but %s for it", c.Namespace, b.ViolationText(), b.DisabledBy),
			enableCommand(c.Namespace, b.DisabledBy)...))
	case !b.Balanced && !b.Defragmentation.Running:
		f := finding(NotBalanced, scope, fmt.Sprintf("%s is not balanced (%s)", c.Namespace, b.ViolationText()))
		if bytes, known := MisplacedBytes(s, c, b.Violation); known {
			f.Numbers = []Number{{Name: "misplaced", Value: bytes, Unit: Bytes}}
		}
		f.Numbers = append(f.Numbers, b.firstMoveNumbers()...)
		list = append(list, f)
	}
	if b.DisabledBy == NotDisabled || b.Known && !b.Balanced ||
		b.DisabledBy == DisabledNoBalance && s.BalancingDisabledBy(c.Namespace) != nil {
		return list
	}
	return append(list, disabledFinding(c.Namespace, b.DisabledBy))
}

// disabledFinding finds the flag of a collection.
func disabledFinding(ns string, hold DisabledBy) Finding {
	return finding(disabledCodes[hold], Scope{Namespace: ns}, fmt.Sprintf("%s for %s", hold, ns),
		enableCommand(ns, hold)...)
}

// firstMoveNumbers returns what the rules compared for the first move, in what they
// count.
func (b Balance) firstMoveNumbers() []Number {
	if b.FirstMove == nil {
		return nil
	}
	return comparedNumbers(b.FirstMove.Numbers)
}

// comparedNumbers returns what a rule compared; none where it compared nothing.
func comparedNumbers(n policy.Numbers) []Number {
	if n == (policy.Numbers{}) {
		return nil
	}
	unit := Bytes
	if n.Unit == policy.Chunks {
		unit = Count
	}
	list := []Number{{"donor", n.Donor, unit}, {"recipient", n.Recipient, unit}}
	if n.Threshold > 0 {
		list = append(list, Number{"ideal", n.Ideal, unit}, Number{"threshold", n.Threshold, unit})
	}
	return list
}

// enableCommand returns the command that ends a hold; there is none for the server's own.
func enableCommand(ns string, hold DisabledBy) []string {
	switch hold {
	case DisabledNoBalance:
		return []string{fmt.Sprintf("sh.enableBalancing(%q)", ns)}
	case DisabledNoMigrations:
		return []string{fmt.Sprintf("sh.enableMigrations(%q)", ns)}
	}
	return nil
}

// enableCommands returns all commands that enable the balancing of a collection again.
func enableCommands(c catalog.Collection, r catalog.Release) (list []string) {
	if c.NoBalance {
		list = enableCommand(c.Namespace, DisabledNoBalance)
		c.NoBalance = false
	}
	return append(list, enableCommand(c.Namespace, DisabledByOf(c, r))...)
}

func orphanFindings(c *catalog.CollectionState) []Finding {
	var documents, bytes, shards int64
	for _, data := range c.Sizes {
		documents, bytes = documents+data.Orphans, bytes+data.OrphanBytes
		if data.Orphans > 0 {
			shards++
		}
	}
	if documents == 0 {
		return nil
	}
	f := finding(Orphans, Scope{Namespace: c.Namespace},
		fmt.Sprintf("%s has %s on %s", c.Namespace, humanize.Count(documents, "orphan"), humanize.Count(shards, "shard")))
	f.Numbers = countNumbers("orphans", documents, Number{Name: "shards", Value: shards},
		Number{Name: "orphanBytes", Value: bytes, Unit: Bytes})
	return []Finding{f}
}
