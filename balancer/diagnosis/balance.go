package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Balance says whether a collection is balanced.
type Balance struct {
	Namespace string
	// Known is false when the balance is unknown; Reason says why.
	Known  bool
	Reason string
	// Balanced means that the balancer would not change the collection. Otherwise Violation is the
	// first problem that the balancer would fix, in the server's words (policy.Violation…), or empty
	// when the server does not name the problem.
	Balanced  bool
	Violation string
	// Computed means that the balance was computed by the rules of the release, because the server did
	// not report it.
	Computed bool
	// FirstMove is the first move that the rules would choose. It is nil unless Computed and not
	// Balanced, and nil where chunks have to be split or merged first.
	FirstMove *policy.Decision
	// DisabledBy is why the balancer skips the collection.
	DisabledBy DisabledBy
	// ChunkSizeMB is the chunk size in force in MiB; 0 before 6.0.
	ChunkSizeMB     float64
	Defragmentation Defragmentation
}

// DisabledBy is why the balancer skips a collection.
type DisabledBy uint8

// The reasons. A collection can have both; then the disabled flag is returned.
const (
	NotDisabled DisabledBy = iota
	DisabledNoBalance
	DisabledNoMigrations
	DisabledChunkOperations
)

// String returns the reason in words, empty for NotDisabled.
func (d DisabledBy) String() string {
	return [...]string{"", "balancing is disabled", "migrations are disabled",
		"splits, merges and migrations are forbidden by the server"}[d]
}

// DisabledByOf returns why the balancer of a release skips a collection.
func DisabledByOf(c catalog.Collection, r catalog.Release) DisabledBy {
	switch {
	case c.NoBalance:
		return DisabledNoBalance
	case !c.PermitMigrations, !c.AllowMigrations:
		return DisabledNoMigrations
	case c.ForbidsChunkOperations(r):
		return DisabledChunkOperations
	}
	return NotDisabled
}

// ViolationText returns the violation, or a text which says that the server does not name it. It is
// empty when the collection is balanced.
func (b Balance) ViolationText() string {
	switch {
	case b.Balanced:
		return ""
	case b.Violation == "":
		return "the server does not say why"
	}
	return b.Violation
}

// Sharded returns the sharded collections, by namespace. It leaves out the unsharded collections that
// the catalog tracks, and the temporary collections of reshardings, which only the resharding itself
// may change.
func Sharded(s *catalog.Snapshot) []*catalog.CollectionState {
	return slices.DeleteFunc(slices.Clone(s.Collections()), func(c *catalog.CollectionState) bool {
		return c.Unsplittable || isReshardingTemp(c.Namespace)
	})
}

// isReshardingTemp reports whether a collection is the temporary collection of a resharding.
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

// BalanceOf returns the balance of a collection: what the server reported, or else what the rules of
// the release compute from chunks and sizes.
func BalanceOf(s *catalog.Snapshot, c *catalog.CollectionState) Balance {
	b := Balance{
		Namespace:       c.Namespace,
		DisabledBy:      DisabledByOf(c.Collection, s.Release()),
		Defragmentation: DefragmentationOf(c),
	}
	if _, under := ReshardingOf(s, c.Namespace); under && b.DisabledBy == DisabledNoMigrations {
		b.DisabledBy = NotDisabled // the resharding has set the flag, and will clear it
	}
	if r := c.ReportedStatus; r != nil {
		b.Known, b.Balanced, b.Violation, b.ChunkSizeMB = true, r.Compliant, r.Violation, r.ChunkSizeMB
		return b
	}
	var why policy.Report
	status, reason := computeCompliance(s, c, b.Defragmentation, &why)
	if gap, found := gapOf(s, c.Namespace, "zones"); found {
		reason = gap.Reason // without zones every zone would look balanced
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

// gapOf returns the gap that says why part what of a collection could not be read; an empty what
// matches any part.
func gapOf(s *catalog.Snapshot, ns, what string) (gap catalog.Gap, found bool) {
	for _, gap := range s.Parts().Source.Gaps {
		if gap.Namespace == ns && (what == "" || gap.What == what) {
			return gap, true
		}
	}
	return catalog.Gap{}, false
}

// computeCompliance applies the rules of the release.
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
		status, err = policy.ExplainStatusByCount(policy.CountSituation{Situation: situation, Rules: rules}, why)
	} else {
		of := policy.Defragmentation{Running: d.Running, Phase: d.Phase, RemainingChunks: max(0, d.RemainingChunks)}
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

// IsBalancedByTotals reports whether a collection is balanced, from the number of chunks and bytes on
// each shard, without an explanation. It does not need the routing table.
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

// newSituation returns the collection as a balancer round would see it.
func newSituation(s *catalog.Snapshot, c *catalog.CollectionState) policy.Situation {
	settings := s.Settings()
	now := policy.Situation{
		Namespace: c.Namespace, UUID: c.UUID, Table: c.Table, Zones: c.Zones,
		Sizes: c.DataSizes(settings), ForceJumbo: settings.AttemptJumbo, Release: s.Release(),
	}
	for _, shard := range s.Shards() {
		now.Shards = append(now.Shards, shard.Shard)
		if data, known := s.OwnedData(c, shard); known {
			now.Sizes.ByShard[shard.ID] = data.Bytes
		}
	}
	return now
}

// MisplacedBytes returns how many bytes of a collection have to move to fix the violation: the bytes on
// draining shards, or those above an even share. The number is unknown for collections with zones, for
// other violations, and without sizes.
func MisplacedBytes(s *catalog.Snapshot, c *catalog.CollectionState, violation string) (bytes int64, known bool) {
	var draining, total int64
	for id, data := range c.Sizes {
		total += data.Bytes
		if shard, ok := s.Shard(id); !ok || shard.Draining {
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
	staying := s.NonDrainingShards()
	share := total / max(1, int64(len(staying)))
	for _, shard := range staying {
		bytes += max(0, c.Sizes[shard.ID].Bytes-share)
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
		list = append(list, finding(NotBalancedDisabled, scope,
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

// disabledFinding returns the finding about the flag that disables a collection's balancing.
func disabledFinding(ns string, hold DisabledBy) Finding {
	return finding(disabledCodes[hold], Scope{Namespace: ns}, fmt.Sprintf("%s for %s", hold, ns),
		enableCommand(ns, hold)...)
}

// firstMoveNumbers returns the numbers that the rules compared for the first move, with their unit.
func (b Balance) firstMoveNumbers() []Number {
	if b.FirstMove == nil {
		return nil
	}
	return comparedNumbers(b.FirstMove.Numbers)
}

// comparedNumbers returns the numbers that a rule compared; none where the rule compared nothing.
func comparedNumbers(n policy.Numbers) []Number {
	if n == (policy.Numbers{}) {
		return nil
	}
	unit := Bytes
	if n.Unit == policy.UnitChunks {
		unit = Count
	}
	list := []Number{{"donor", n.Donor, unit}, {"recipient", n.Recipient, unit}}
	if n.Threshold > 0 {
		list = append(list, Number{"ideal", n.Ideal, unit}, Number{"threshold", n.Threshold, unit})
	}
	return list
}

// enableCommand returns the command that clears the flag. There is none for flags that the server sets
// itself.
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
