package check

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// The rules about the cluster as a whole.

func (l *ruleRun) checkShards() {
	if l.reportGap("shards", "reach") {
		return
	}
	list := l.WithCodes(diagnosis.ShardUnreachable)
	if len(list) == 0 && l.Parts().Source.Kind == catalog.SourceFile {
		l.addUnavailable("whether every shard answers is unknown: not recorded in a file")
	}
	for _, f := range list {
		l.addDiagnosed(f)
	}
}

// checkBalancer checks how long the balancer has been off. The cluster does not record this when a user
// set the mode by hand; an unknown duration counts as too long.
func (l *ruleRun) checkBalancer() {
	for _, f := range l.WithCodes(diagnosis.SettingsUnreadable) {
		l.addDiagnosed(f)
	}
	if mode := diagnosis.ModeOf(l.Snapshot); mode == "" && l.reportGap("settings", "balancer") {
		return
	}
	for _, f := range l.WithCodes(diagnosis.BalancerOff) {
		found := fromDiagnosis(f)
		if f.Since.IsZero() || l.Time().IsZero() {
			found.Sentence += ", since when is not recorded"
			l.add(found)
			continue
		}
		off := secondsQuantity(max(0, l.Time().Sub(f.Since)))
		found.Sentence += fmt.Sprintf(", for %s", off)
		l.addIfOverMax(off, found)
	}
}

func (l *ruleRun) checkRounds() {
	if l.reportGap("actionlog") {
		return
	}
	for _, f := range l.WithCodes(diagnosis.RoundsFailing) {
		l.addIfOverMax(countQuantity(int64(diagnosis.RoundsOf(l.Snapshot).Failed)), fromDiagnosis(f))
	}
}

// checkMoves counts the failed migrations for each pair of shards.
func (l *ruleRun) checkMoves() {
	if l.reportGap("changelog") {
		return
	}
	type pair struct{ from, to catalog.ShardID }
	failed, worst := map[pair]int64{}, map[pair]catalog.Outcome{}
	var pairs []pair
	for _, o := range diagnosis.OutcomesSince(l.Snapshot, l.Time().Add(-l.policy.FailureSpan)) {
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
		l.addIfOverMax(n, Finding{About: diagnosis.Scope{Shard: p.from, To: p.to}, Sentence: fmt.Sprintf(
			"%s of the migrations from %s to %s failed in the last %s, most of them with: %s",
			n, p.from, p.to, secondsQuantity(l.policy.FailureSpan), worst[p].Error)})
	}
}

// checkDraining finds shards whose remaining data waits for the operator.
func (l *ruleRun) checkDraining() {
	if l.reportGap("shards", "draining", "chunks", "databases") {
		return
	}
	for _, shard := range l.Shards() {
		d := diagnosis.DrainOf(l.Snapshot, shard)
		scope := diagnosis.Scope{Shard: shard.ID}
		switch {
		case !shard.Draining:
		case d.IsDone():
			for _, f := range diagnosis.DrainedFindings(l.Snapshot, shard) {
				found := fromDiagnosis(f)
				found.Severity = f.Severity
				l.add(found)
			}
		case d.IsStuck():
			l.addDiagnosed(d.OperatorFinding())
		case d.Chunks > 0 && d.Jumbo >= d.Chunks-d.DisabledChunks:
			l.add(Finding{About: scope, Sentence: fmt.Sprintf(
				"shard %s is draining, and its last %d chunks can't be moved by the balancer, %d of them jumbo",
				shard.ID, d.Chunks, d.Jumbo), Commands: d.Commands()})
		case l.policy.allows(Draining):
			l.add(Finding{About: scope, Severity: diagnosis.Info, Sentence: d.String(), Excuse: "draining is allowed"})
		}
	}
}

// checkPaused finds collections whose balancing a finished run has left disabled. It also reports a
// pause of all runs.
func (l *ruleRun) checkPaused() {
	if l.reportGap("lease") {
		return
	}
	for _, f := range l.WithCodes(diagnosis.LeftPaused) {
		l.addDiagnosed(f)
	}
	for _, f := range l.WithCodes(diagnosis.RunsPaused) {
		shown := fromDiagnosis(f)
		shown.Severity, shown.Excuse = diagnosis.Info, "it is intended"
		l.add(shown)
	}
}

func (l *ruleRun) checkZones() {
	if l.reportGap("shards", "tags") {
		return
	}
	concerned := map[string]bool{}
	for _, z := range diagnosis.Zones(l.Snapshot, "") {
		concerned[z.Name] = slices.ContainsFunc(z.Ranges, func(r diagnosis.ZoneRange) bool {
			return l.policy.Namespaces.Match(r.Namespace)
		})
	}
	for _, f := range l.WithCodes(diagnosis.ZoneWithoutShards, diagnosis.ZoneDraining, diagnosis.ZoneRangesOverlap,
		diagnosis.ZoneEndsEarly) {
		if ns := f.Scope.Namespace; ns == "" && concerned[f.Scope.Zone] || ns != "" && l.policy.Namespaces.Match(ns) {
			l.addDiagnosed(f)
		}
	}
}

// checkChunks sums the chunks of all collections that the policy covers.
func (l *ruleRun) checkChunks() {
	if l.reportGap("shards", "chunks") {
		return
	}
	for _, shard := range l.Shards() {
		var n int64
		for _, c := range l.policyCollections() {
			n += c.CountOn(shard.ID).Chunks
		}
		l.addIfOverMax(countQuantity(n), Finding{About: diagnosis.Scope{Shard: shard.ID},
			Sentence: fmt.Sprintf("shard %s has %d chunks", shard.ID, n)})
	}
}

// checkVersions compares the versions of the routers and of the reachable members.
func (l *ruleRun) checkVersions() {
	members := diagnosis.MemberVersions(l.Snapshot)
	if !members.HasAnswers() && l.reportGap("mongos") {
		return
	}
	routers := diagnosis.RouterVersions(l.Snapshot)
	if len(routers) > 1 {
		l.add(Finding{Sentence: "the routers have different versions: " + strings.Join(routers, " and ")})
	}
	if members.Differ() {
		l.add(Finding{Sentence: "the members have different versions: " + members.String()})
	}
	if own := members.Versions(); len(routers) == 1 && len(own) == 1 && routers[0] != own[0] {
		l.add(Finding{Sentence: "the routers run " + routers[0] + ", and the members " + own[0]})
	}
}

func (l *ruleRun) checkMetadata() {
	const notKnown = "whether the metadata is consistent is unknown: "
	switch {
	case l.MetadataUnsupported != "":
		l.addUnavailable(notKnown + l.MetadataUnsupported)
		return
	case l.MetadataError != "":
		l.addUnknown(diagnosis.Scope{}, notKnown+"%s", l.MetadataError)
		return
	}
	byNamespace := map[string][]catalog.Inconsistency{}
	var order []string
	for _, i := range l.Inconsistencies {
		if i.Namespace != "" && !l.policy.Namespaces.Match(i.Namespace) {
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
		l.addIfOverMax(countQuantity(n), Finding{About: diagnosis.Scope{Namespace: ns, Shard: first.Shard},
			Sentence: fmt.Sprintf("the metadata of %s is inconsistent: %s: %s%s", ns, first.Type, first.Description, more),
			Commands: []string{"sh.checkMetadataConsistency()"}})
	}
}

func (l *ruleRun) checkCollections() {
	missing := l.policy.Namespaces.Missing(l.Snapshot)
	for _, name := range missing {
		sentence := diagnosis.NewCollectionNotFound(l.Snapshot, name).Error()
		if l.policy.AllowMissing {
			l.addUnknown(diagnosis.Scope{}, "%s", sentence)
		} else {
			l.add(Finding{Sentence: sentence})
		}
	}
	if len(missing) == 0 && len(l.policyCollections()) == 0 && !l.policy.AllowMissing {
		l.add(Finding{Sentence: "there is no sharded collection to check"})
	}
}
