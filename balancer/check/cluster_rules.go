package check

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// The rules about the cluster as a whole.

func (rr *ruleRun) checkShards() {
	if rr.reportGap("shards", "reach") {
		return
	}
	list := rr.FindingsWithCodes(diagnosis.ShardUnreachable)
	if len(list) == 0 && rr.Parts().Source.Kind == catalog.SourceFile {
		rr.addUnavailable("whether every shard answers is unknown: not recorded in a file")
	}
	for _, f := range list {
		rr.addDiagnosed(f)
	}
}

// checkBalancer checks how long the balancer has been off. The cluster does not record this when a user
// set the mode by hand; an unknown duration counts as too long.
func (rr *ruleRun) checkBalancer() {
	for _, f := range rr.FindingsWithCodes(diagnosis.SettingsUnreadable) {
		rr.addDiagnosed(f)
	}
	if mode := diagnosis.ModeOf(rr.Snapshot); mode == "" && rr.reportGap("settings", "balancer") {
		return
	}
	for _, f := range rr.FindingsWithCodes(diagnosis.BalancerOff) {
		found := fromDiagnosis(f)
		if f.Since.IsZero() || rr.Time().IsZero() {
			found.Sentence += ", since when is not recorded"
			rr.add(found)
			continue
		}
		off := secondsQuantity(max(0, rr.Time().Sub(f.Since)))
		found.Sentence += fmt.Sprintf(", for %s", off)
		rr.addIfOverMax(off, found)
	}
}

func (rr *ruleRun) checkRounds() {
	if rr.reportGap("actionlog") {
		return
	}
	for _, f := range rr.FindingsWithCodes(diagnosis.RoundsFailing) {
		rr.addIfOverMax(countQuantity(int64(diagnosis.RoundsOf(rr.Snapshot).Failed)), fromDiagnosis(f))
	}
}

// checkMoves counts the failed migrations for each pair of shards.
func (rr *ruleRun) checkMoves() {
	if rr.reportGap("changelog") {
		return
	}
	type pair struct{ from, to catalog.ShardID }
	failed, worst := map[pair]int64{}, map[pair]catalog.MigrationOutcome{}
	var pairs []pair
	for _, o := range diagnosis.OutcomesSince(rr.Snapshot, rr.Time().Add(-rr.policy.MaxFailureAge)) {
		if o.Error == "" {
			continue
		}
		p := pair{o.From, o.To}
		if failed[p] == 0 {
			pairs = append(pairs, p)
		}
		if failed[p] += o.Count; o.Count > worst[p].Count {
			worst[p] = o
		}
	}
	for _, p := range pairs {
		n := countQuantity(failed[p])
		rr.addIfOverMax(n, Finding{About: diagnosis.Scope{Shard: p.from, To: p.to}, Sentence: fmt.Sprintf(
			"%s of the migrations from %s to %s failed in the last %s, most of them with: %s",
			n, p.from, p.to, secondsQuantity(rr.policy.MaxFailureAge), worst[p].Error)})
	}
}

// checkDraining finds shards whose remaining data waits for the operator.
func (rr *ruleRun) checkDraining() {
	if rr.reportGap("shards", "draining", "chunks", "databases") {
		return
	}
	for _, shard := range rr.Shards() {
		d := diagnosis.DrainOf(rr.Snapshot, shard)
		scope := diagnosis.Scope{Shard: shard.ID}
		switch {
		case !shard.Draining:
		case d.IsDone():
			for _, f := range diagnosis.DrainedFindings(rr.Snapshot, shard) {
				found := fromDiagnosis(f)
				found.Severity = f.Severity
				rr.add(found)
			}
		case d.IsStuck():
			rr.addDiagnosed(d.OperatorFinding())
		case d.Chunks > 0 && d.Jumbo >= d.Chunks-d.DisabledChunks:
			rr.add(Finding{About: scope, Sentence: fmt.Sprintf(
				"shard %s is draining, and its last %d chunks can't be moved by the balancer, %d of them jumbo",
				shard.ID, d.Chunks, d.Jumbo), Commands: d.Commands()})
		case rr.policy.allows(Draining):
			rr.add(Finding{About: scope, Severity: diagnosis.Info, Sentence: d.String(), Excuse: "draining is allowed"})
		}
	}
}

// checkPaused finds collections whose balancing a finished run has left disabled. It also reports a
// pause of all runs.
func (rr *ruleRun) checkPaused() {
	if rr.reportGap("lease") {
		return
	}
	for _, f := range rr.FindingsWithCodes(diagnosis.LeftPaused) {
		rr.addDiagnosed(f)
	}
	for _, f := range rr.FindingsWithCodes(diagnosis.RunsPaused) {
		shown := fromDiagnosis(f)
		shown.Severity, shown.Excuse = diagnosis.Info, "it is intended"
		rr.add(shown)
	}
}

func (rr *ruleRun) checkZones() {
	if rr.reportGap("shards", "tags") {
		return
	}
	concerned := map[string]bool{}
	for _, z := range diagnosis.Zones(rr.Snapshot, "") {
		concerned[z.Name] = slices.ContainsFunc(z.Ranges, func(r diagnosis.ZoneRange) bool {
			return rr.policy.Namespaces.Match(r.Namespace)
		})
	}
	for _, f := range rr.FindingsWithCodes(diagnosis.ZoneWithoutShards, diagnosis.ZoneDraining,
		diagnosis.ZoneRangesOverlap,
		diagnosis.ZoneEndsEarly) {
		if ns := f.Scope.Namespace; ns == "" && concerned[f.Scope.Zone] || ns != "" && rr.policy.Namespaces.Match(ns) {
			rr.addDiagnosed(f)
		}
	}
}

// checkChunks sums the chunks of all collections that the policy covers.
func (rr *ruleRun) checkChunks() {
	if rr.reportGap("shards", "chunks") {
		return
	}
	for _, shard := range rr.Shards() {
		var n int64
		for _, c := range rr.policyCollections() {
			n += c.CountOn(shard.ID).Chunks
		}
		rr.addIfOverMax(countQuantity(n), Finding{About: diagnosis.Scope{Shard: shard.ID},
			Sentence: fmt.Sprintf("shard %s has %d chunks", shard.ID, n)})
	}
}

// checkVersions compares the versions of the routers and of the reachable members.
func (rr *ruleRun) checkVersions() {
	members := diagnosis.MemberVersions(rr.Snapshot)
	if !members.HasAnswers() && rr.reportGap("mongos") {
		return
	}
	routers := diagnosis.RouterVersions(rr.Snapshot)
	if len(routers) > 1 {
		rr.add(Finding{Sentence: "the routers have different versions: " + strings.Join(routers, " and ")})
	}
	if members.Differ() {
		rr.add(Finding{Sentence: "the members have different versions: " + members.String()})
	}
	if own := members.Versions(); len(routers) == 1 && len(own) == 1 && routers[0] != own[0] {
		rr.add(Finding{Sentence: "the routers run " + routers[0] + ", and the members " + own[0]})
	}
}

func (rr *ruleRun) checkMetadata() {
	const notKnown = "whether the metadata is consistent is unknown: "
	switch {
	case rr.MetadataUnsupported != "":
		rr.addUnavailable(notKnown + rr.MetadataUnsupported)
		return
	case rr.MetadataError != "":
		rr.addUnknown(diagnosis.Scope{}, notKnown+"%s", rr.MetadataError)
		return
	}
	byNamespace := map[string][]catalog.Inconsistency{}
	var order []string
	for _, i := range rr.Inconsistencies {
		if i.Namespace != "" && !rr.policy.Namespaces.Match(i.Namespace) {
			continue
		}
		if byNamespace[i.Namespace] == nil {
			order = append(order, i.Namespace)
		}
		byNamespace[i.Namespace] = append(byNamespace[i.Namespace], i)
	}
	for _, ns := range order {
		first, n := byNamespace[ns][0], int64(len(byNamespace[ns]))
		more := ""
		if n > 1 {
			more = fmt.Sprintf(", and %d more", n-1)
		}
		rr.addIfOverMax(countQuantity(n), Finding{About: diagnosis.Scope{Namespace: ns, Shard: first.Shard},
			Sentence: fmt.Sprintf("the metadata of %s is inconsistent: %s: %s%s", ns, first.Type, first.Description, more),
			Commands: []string{"sh.checkMetadataConsistency()"}})
	}
}

func (rr *ruleRun) checkCollections() {
	missing := rr.policy.Namespaces.Missing(rr.Snapshot)
	for _, name := range missing {
		sentence := diagnosis.NewCollectionNotFound(rr.Snapshot, name).Error()
		if rr.policy.AllowMissing {
			rr.addUnknown(diagnosis.Scope{}, "%s", sentence)
		} else {
			rr.add(Finding{Sentence: sentence})
		}
	}
	if len(missing) == 0 && len(rr.policyCollections()) == 0 && !rr.policy.AllowMissing {
		rr.add(Finding{Sentence: "there is no sharded collection to check"})
	}
}
