package check

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// The rules about the cluster as such.

func (l *ruleRun) shards() {
	if l.gap("shards", "reach") {
		return
	}
	list := l.About(diagnosis.ShardUnreachable)
	if len(list) == 0 && l.Parts().Source.Kind == catalog.SourceFile {
		l.silent("whether every shard answers is unknown: not recorded in a file")
	}
	for _, f := range list {
		l.take(f)
	}
}

// balancer finds the balancer off for longer than the threshold. Nobody writes
// down who set the mode by hand: what is not known counts as long.
func (l *ruleRun) balancer() {
	for _, f := range l.About(diagnosis.SettingsUnreadable) {
		l.take(f)
	}
	if mode := diagnosis.ModeOf(l.Snapshot); mode == "" && l.gap("settings", "balancer") {
		return
	}
	for _, f := range l.About(diagnosis.BalancerOff) {
		found := taken(f)
		if f.Since.IsZero() || l.Time().IsZero() {
			found.Sentence += ", since when is not recorded"
			l.add(found)
			continue
		}
		off := seconds(max(0, l.Time().Sub(f.Since)))
		found.Sentence += fmt.Sprintf(", for %s", off)
		l.measured(off, found)
	}
}

func (l *ruleRun) rounds() {
	if l.gap("actionlog") {
		return
	}
	for _, f := range l.About(diagnosis.RoundsFailing) {
		l.measured(count(int64(diagnosis.RoundsOf(l.Snapshot).Failed)), taken(f))
	}
}

// moves counts the migrations that failed, for each pair of shards.
func (l *ruleRun) moves() {
	if l.gap("changelog") {
		return
	}
	type pair struct{ from, to catalog.ShardID }
	failed, worst := map[pair]int64{}, map[pair]catalog.Outcome{}
	var pairs []pair
	for _, o := range diagnosis.OutcomesSince(l.Snapshot, l.Time().Add(-l.policy.Span)) {
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
		n := count(failed[p])
		l.measured(n, Finding{About: diagnosis.Scope{Shard: p.from, To: p.to}, Sentence: fmt.Sprintf(
			"%s of the migrations from %s to %s failed in the last %s, most of them with: %s",
			n, p.from, p.to, seconds(l.policy.Span), worst[p].Error)})
	}
}

// draining finds shards of which all that is left waits for the operator.
func (l *ruleRun) draining() {
	if l.gap("shards", "draining", "chunks", "databases") {
		return
	}
	for _, shard := range l.Shards() {
		d := diagnosis.DrainOf(l.Snapshot, shard)
		scope := diagnosis.Scope{Shard: shard.ID}
		switch {
		case !shard.Draining:
		case d.Done():
			for _, f := range diagnosis.Drained(l.Snapshot, shard) {
				found := taken(f)
				found.Severity = f.Severity
				l.add(found)
			}
		case d.Stuck():
			l.take(d.Remainder())
		case d.Chunks > 0 && d.Jumbo >= d.Chunks-d.HeldChunks:
			l.add(Finding{About: scope, Sentence: fmt.Sprintf(
				"shard %s is draining, and its last %d chunks can't be moved by the balancer, %d of them jumbo",
				shard.ID, d.Chunks, d.Jumbo), Commands: d.Commands()})
		case l.policy.allows(Draining):
			l.add(Finding{About: scope, Severity: diagnosis.Info, Sentence: d.String(), Excuse: "draining is allowed"})
		}
	}
}

// paused finds what a run has left disabled; one that is running does not count. It names a
// pause of all runs.
func (l *ruleRun) paused() {
	if l.gap("lease") {
		return
	}
	for _, f := range l.About(diagnosis.LeftPaused) {
		l.take(f)
	}
	for _, f := range l.About(diagnosis.RunsPaused) {
		shown := taken(f)
		shown.Severity, shown.Excuse = diagnosis.Info, "somebody wants it"
		l.add(shown)
	}
}

func (l *ruleRun) zones() {
	if l.gap("shards", "tags") {
		return
	}
	concerned := map[string]bool{}
	for _, z := range diagnosis.Zones(l.Snapshot, "") {
		concerned[z.Name] = slices.ContainsFunc(z.Ranges, func(r diagnosis.ZoneRange) bool {
			return l.policy.Namespaces.Match(r.Namespace)
		})
	}
	for _, f := range l.About(diagnosis.ZoneWithoutShards, diagnosis.ZoneDraining, diagnosis.ZoneRangesOverlap,
		diagnosis.ZoneEndsEarly) {
		if ns := f.Scope.Namespace; ns == "" && concerned[f.Scope.Zone] || ns != "" && l.policy.Namespaces.Match(ns) {
			l.take(f)
		}
	}
}

// chunks adds up the chunks of all collections that the policy is about.
func (l *ruleRun) chunks() {
	if l.gap("shards", "chunks") {
		return
	}
	for _, shard := range l.Shards() {
		var n int64
		for _, c := range l.chosen() {
			n += c.CountOn(shard.ID).Chunks
		}
		l.measured(count(n), Finding{About: diagnosis.Scope{Shard: shard.ID},
			Sentence: fmt.Sprintf("shard %s has %d chunks", shard.ID, n)})
	}
}

// versions compares what routers run, and what members run that could be reached.
func (l *ruleRun) versions() {
	members := diagnosis.MemberVersions(l.Snapshot)
	if !members.Known() && l.gap("mongos") {
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

func (l *ruleRun) metadata() {
	const notKnown = "whether the metadata is consistent is unknown: "
	switch {
	case l.Unasked != "":
		l.silent(notKnown + l.Unasked)
		return
	case l.Refused != "":
		l.unknown(diagnosis.Scope{}, notKnown+"%s", l.Refused)
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
		l.measured(count(n), Finding{About: diagnosis.Scope{Namespace: ns, Shard: first.Shard},
			Sentence: fmt.Sprintf("the metadata of %s is inconsistent: %s: %s%s", ns, first.Type, first.Description, more),
			Commands: []string{"sh.checkMetadataConsistency()"}})
	}
}

func (l *ruleRun) collections() {
	missing := l.policy.Namespaces.Missing(l.Snapshot)
	for _, name := range missing {
		sentence := diagnosis.UnknownCollection(l.Snapshot, name).Error()
		if l.policy.AllowMissing {
			l.unknown(diagnosis.Scope{}, "%s", sentence)
		} else {
			l.add(Finding{Sentence: sentence})
		}
	}
	if len(missing) == 0 && len(l.chosen()) == 0 && !l.policy.AllowMissing {
		l.add(Finding{Sentence: "there is no sharded collection to check"})
	}
}
