package diagnosis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// Answer explains the state of a cluster or of a part of it.
type Answer struct {
	// About is the scope of the question: the cluster, a collection, a shard or a zone.
	About Scope
	// Time is the time of the state that the answer describes; zero when it is unknown.
	Time time.Time
	// Symptoms are the problems, the most severe first; empty where nothing is wrong.
	Symptoms []Finding
	// Causes are what caused the symptoms or keeps them from ending. They are ordered by what has to
	// end first: what keeps the balancer from its rounds, then what keeps the balancer from a
	// collection, then from a shard or a zone, then from a chunk. If there are symptoms and no causes,
	// the balancer is at work.
	Causes []Finding
	// Notes are worth knowing, but prevent nothing.
	Notes []Finding
	// KnownFaults are known server bugs that concern the scope. Other packages find them.
	KnownFaults []Finding
	// Spreads describe the distribution of the collection in About over the shards.
	Spreads []Spread
}

// Healthy reports whether nothing is wrong.
func (a Answer) Healthy() bool { return len(a.Symptoms) == 0 }

// symptomCodes are the codes that say what is wrong, but not why.
var symptomCodes = []Code{NotBalanced, NotBalancedDisabled, NotBalancedPaused, BalanceUnknown, DrainNeedsOperator,
	Draining}

// causeCodes are the codes that say why, in the order in which a balancer checks the obstacles: an
// earlier code hides the later ones.
var causeCodes = []Code{
	ConfigUnreachable,
	ShardUnreachable,
	SettingsUnreadable,
	BalancerOff,
	WindowShut,
	WindowTimeZoneUnknown,
	DuplicateMachineIDs,
	RoundsFailing,
	Resharding,
	ShardKeyIndexMissing,
	LeftPaused,
	PausedByRun,
	BalancingOff,
	MigrationsForbidden,
	ChunkOperationsForbidden,
	Defragmenting,
	DefragmentationIdle,
	ZoneRangesOverlap,
	UnalignedZones,
	NoSizeEntry,
	ZoneWithoutShards,
	ZoneDraining,
	ShardAtMaxSize,
	NoRecipient,
	LargestOutsideZone,
	NoChunkInZone,
	OnlyJumboChunks,
	JumboChunks,
	MoveWaitsForDeletion,
	MigrationsFailing,
	ShardSlow,
}

// PreventsBalance reports whether the finding describes a condition that keeps a cluster from being
// balanced, however long its balancer works.
func (f Finding) PreventsBalance() bool {
	switch f.Code {
	case Orphans, ShardSlow, RoundsFailing, MigrationsFailing, JumboChunks: // uneven chunks have their own finding
		return false
	}
	return f.Severity > Info || slices.Contains(symptomCodes, f.Code)
}

// IdleWithBalancerOn returns the cluster as it would be with its balancer on, without the operations that
// were running when the Snapshot was read.
func IdleWithBalancerOn(s *catalog.Snapshot) *catalog.Snapshot {
	parts := s.Parts()
	parts.Settings.Mode, parts.Settings.Window, parts.Settings.Days = catalog.ModeFull, nil, nil
	parts.Balancer.Mode = catalog.ModeFull
	parts.Changes, parts.Actions, parts.Outcomes, parts.Deletions, parts.Migrations = nil, nil, nil, nil, nil
	return catalog.NewSnapshot(parts)
}

// Why returns what is wrong with a cluster, or with the object that about names, and all causes of
// that. Answers about chunks need the routing tables.
func Why(s *catalog.Snapshot, about Scope) Answer {
	if c := s.Collection(about.Namespace); c != nil {
		about.Namespace = c.Namespace // for a time series collection, this is the buckets collection
	}
	d := Diagnose(s)
	a := Answer{About: about, Time: s.Time()}
	findings := slices.Concat(d.Findings, d.decisionFindings(), d.harmlessFindings())
	if ModeOf(s) == catalog.ModeOff {
		findings = append(findings, windowFindings(s)...) // with the balancer off, the window is the next obstacle
	}
	for i, f := range findings {
		switch f.Code {
		case JumboChunks:
			findings[i] = withJumboSizes(s.Collection(f.Scope.Namespace), f)
		case NotBalanced:
			findings[i] = d.withComparison(f)
		}
	}
	findings = slices.DeleteFunc(findings, func(f Finding) bool { return !concerns(s, f, about) })
	sortCauses(findings)
	wrong := slices.ContainsFunc(findings, isProblem)
	for _, f := range findings {
		switch {
		case slices.Contains(symptomCodes, f.Code):
			a.Symptoms = append(a.Symptoms, f)
			if f.Code == NotBalancedDisabled {
				a.Causes = append(a.Causes, disabledFindings(s, f)...)
			}
		case slices.Contains(causeCodes, f.Code) && wrong:
			a.Causes = append(a.Causes, f)
		default:
			a.Notes = append(a.Notes, f)
		}
	}
	sortCauses(a.Causes)
	a.Causes = slices.CompactFunc(a.Causes, isSameFinding)
	a.promoteCauses()
	if c := s.Collection(about.Namespace); c != nil {
		a.Spreads = Spreads(s, c)
	}
	return a
}

// isProblem reports whether a finding is a problem: a symptom, or a cause that the operator has to fix
// in any case.
func isProblem(f Finding) bool {
	return slices.Contains(symptomCodes, f.Code) || f.Severity > Info && slices.Contains(causeCodes, f.Code)
}

// promoteCauses turns causes into symptoms that have no effect yet but that the operator has to fix
// anyway.
func (a *Answer) promoteCauses() {
	if len(a.Symptoms) > 0 {
		return
	}
	for _, f := range a.Causes {
		if f.Severity > Info {
			a.Symptoms = append(a.Symptoms, f)
		}
	}
}

// disabledFindings returns the findings about the flags that keep a collection from being balanced.
func disabledFindings(s *catalog.Snapshot, f Finding) (list []Finding) {
	c := s.Collection(f.Scope.Namespace)
	_, resharding := ReshardingOf(s, c.Namespace)
	for _, flag := range []struct {
		set  bool
		hold DisabledBy
	}{
		{c.NoBalance && s.BalancingDisabledBy(c.Namespace) == nil, DisabledNoBalance},
		{(!c.AllowMigrations || !c.PermitMigrations) && !resharding, DisabledNoMigrations},
		{c.ForbidsChunkOperations(s.Release()), DisabledChunkOperations},
	} {
		if flag.set {
			list = append(list, disabledFinding(c.Namespace, flag.hold))
		}
	}
	return list
}

// isSameFinding reports whether two findings have the same code and scope. The catalog and a dry run
// can yield the same finding.
func isSameFinding(a, b Finding) bool { return a.Code == b.Code && a.Scope == b.Scope }

// sortCauses sorts causes so that a cause precedes the causes that it hides.
func sortCauses(list []Finding) {
	place := func(f Finding) int {
		if i := slices.Index(causeCodes, f.Code); i >= 0 {
			return i
		}
		return len(causeCodes)
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(b.Severity, a.Severity),
			strings.Compare(a.Scope.Namespace, b.Scope.Namespace), strings.Compare(a.Scope.Zone, b.Scope.Zone),
			strings.Compare(string(a.Scope.Shard), string(b.Scope.Shard)))
	})
}

// concerns reports whether a finding concerns the scope of the question. Findings about the cluster
// concern every scope.
func concerns(s *catalog.Snapshot, f Finding, about Scope) bool {
	of := f.Scope
	switch {
	case (f.Code == PausedByRun || f.Code == LeftPaused) && about.Namespace != "":
		return s.BalancingDisabledBy(about.Namespace) != nil
	case about == Scope{}, of == Scope{}:
		return true
	case about.Namespace != "":
		return of.Namespace == about.Namespace || of.Namespace == "" && concernsCollection(s, f, about.Namespace)
	case about.Shard != "":
		return of.Shard == about.Shard || of.To == about.Shard || of.Shard == "" && of.Namespace != "" &&
			ownsChunks(s, about.Shard, of.Namespace)
	}
	return of.Zone == about.Zone || of.Zone == "" && of.Namespace != "" && hasRange(s, of.Namespace, about.Zone)
}

// concernsCollection reports whether a finding without a namespace concerns a collection: shards that
// have some of the collection, or might have some if they worked, and zones in which the collection has
// ranges.
func concernsCollection(s *catalog.Snapshot, f Finding, ns string) bool {
	if f.Scope.Zone != "" {
		return hasRange(s, ns, f.Scope.Zone)
	}
	return f.Code == ShardUnreachable || f.Code == MigrationsFailing || ownsChunks(s, f.Scope.Shard, ns)
}

func ownsChunks(s *catalog.Snapshot, shard catalog.ShardID, ns string) bool {
	c := s.Collection(ns)
	return c != nil && c.CountOn(shard).Chunks > 0
}

func hasRange(s *catalog.Snapshot, ns, zone string) bool {
	for name, r := range zoneRanges(s) {
		if name == zone && r.Namespace == ns {
			return true
		}
	}
	return false
}

// headlineFinding returns the finding for the headline: the first symptom, unless the operator has to
// fix a more severe cause. In that case it returns a symptom of that cause, or the cause itself.
func (a Answer) headlineFinding() Finding {
	first := a.Symptoms[0]
	grave := first.Severity
	for _, f := range a.Causes {
		if isCauseOf(f, first) {
			grave = max(grave, f.Severity)
		}
	}
	for _, f := range a.Causes {
		if f.Actor != Operator || f.Severity <= grave {
			continue
		}
		first, grave = f, f.Severity
		if i := slices.IndexFunc(a.Symptoms, func(s Finding) bool { return isCauseOf(f, s) }); i >= 0 {
			first = a.Symptoms[i]
		}
	}
	return first
}

// Headline returns the answer in one line, without a full stop.
func (a Answer) Headline() string {
	if a.Healthy() {
		return "nothing is wrong"
	}
	first := a.headlineFinding()
	text := first.Sentence
	cause := slices.IndexFunc(a.Causes, func(f Finding) bool { return isCauseOf(f, first) })
	switch {
	case cause >= 0 && !isSameFinding(a.Causes[cause], first):
		joint := ": "
		if strings.Contains(text, joint) {
			joint = "; the reason: "
		}
		why := a.Causes[cause].Sentence
		if ns := first.Scope.Namespace; ns != "" {
			why = strings.TrimPrefix(why, ns+": ") // the symptom already names the collection
		}
		text += joint + why
	case cause < 0 && first.Actor == Balancer && first.Code != Draining:
		text += ": the balancer is working on it"
	}
	others := slices.DeleteFunc(withoutRepeats(a.Symptoms), func(f Finding) bool { return isSameFinding(f, first) })
	if more := int64(len(others)); more > 0 {
		text += "; " + humanize.Count(more, "more problem")
	}
	return text
}
