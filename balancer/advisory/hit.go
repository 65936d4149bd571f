package advisory

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Hit is a known bug that concerns a cluster.
type Hit struct {
	Advisory
	// Versions are the versions in the cluster that have the bug. Fixed holds the first patch that
	// fixes the bug for each line; it is empty when no such patch is known.
	Versions, Fixed []Version
	// NeedsUnseenCommand says that the bug needs a command that shardsh cannot observe, such as a transaction.
	NeedsUnseenCommand bool
}

// Matching returns the bugs that concern a cluster in its present state, the worst first, then in the
// order of the list. Bugs that need a command that shardsh cannot observe are informational. Matching
// returns those only if a fixed patch exists, so that the operator can do something about the bug.
func (l List) Matching(c Cluster) []Hit {
	return l.hits(c, func(a Advisory, h *Hit) bool {
		h.NeedsUnseenCommand = a.needsUnseenCommand()
		return len(a.Commands) == 0 || h.NeedsUnseenCommand && len(h.Fixed) > 0 ||
			slices.ContainsFunc(a.Commands, c.IsRunning)
	})
}

// HitsForCommands returns the bugs that concern commands which are about to be sent to a cluster.
func (l List) HitsForCommands(c Cluster, commands []Command) []Hit {
	return l.hits(c, func(a Advisory, _ *Hit) bool {
		return slices.ContainsFunc(a.Commands, func(of Command) bool { return slices.Contains(commands, of) })
	})
}

// DependsOnState reports whether any bug that concerns the commands depends on the given state, on a
// cluster of these versions.
func (l List) DependsOnState(s *catalog.Snapshot, state State, commands []Command) bool {
	return slices.ContainsFunc(l.Advisories, func(a Advisory) bool {
		return slices.Contains(a.States, state) &&
			slices.ContainsFunc(a.Commands, func(c Command) bool { return slices.Contains(commands, c) }) &&
			slices.ContainsFunc(VersionsOf(s), func(v Version) bool { _, ok := a.affectedRange(v); return ok })
	})
}

// hits returns the advisories whose versions and states match the cluster and that selected accepts.
func (l List) hits(c Cluster, selected func(Advisory, *Hit) bool) (list []Hit) {
	versions := VersionsOf(c.Snapshot)
	for _, a := range l.Advisories {
		h := Hit{Advisory: a}
		for _, v := range versions {
			if r, ok := a.affectedRange(v); ok {
				h.Versions = append(h.Versions, v)
				if (r.Fixed != Version{}) && !slices.Contains(h.Fixed, r.Fixed) {
					h.Fixed = append(h.Fixed, r.Fixed)
				}
			}
		}
		if len(h.Versions) > 0 && selected(a, &h) &&
			!slices.ContainsFunc(a.States, func(s State) bool { return !c.InState(s) }) {
			list = append(list, h)
		}
	}
	slices.SortStableFunc(list, func(a, b Hit) int { return a.rank() - b.rank() })
	return list
}

func (h Hit) rank() int {
	if h.NeedsUnseenCommand {
		return len(Severities())
	}
	return slices.Index(Severities(), h.Severity)
}

// DependsOnCollections reports whether the bug depends on the state of single collections.
func (a Advisory) DependsOnCollections() bool {
	return slices.ContainsFunc(a.States, func(s State) bool {
		return slices.Contains([]State{Zones, TimeSeries, MovedUnsharded, Jumbo, RangeDeletions}, s)
	})
}

// Finding returns the hit as a finding.
func (h Hit) Finding() diagnosis.Finding {
	f := diagnosis.NewFinding(diagnosis.KnownFault, diagnosis.Scope{}, h.String())
	f.Severity = h.Severity.FindingSeverity()
	if h.NeedsUnseenCommand {
		f.Severity = diagnosis.Info
	}
	return f
}

// String returns text such as "SERVER-115962 of 8.0.10, fixed in 8.0.20: SYMPTOM; REMEDY".
func (h Hit) String() string {
	text := h.ID + " of " + joinVersions(h.Versions)
	if len(h.Fixed) > 0 {
		text += ", fixed in " + joinVersions(h.Fixed)
	}
	return fmt.Sprintf("%s: %s; %s", text, h.Symptom, h.Remedy)
}

func joinVersions(versions []Version) string {
	list := make([]string, len(versions))
	for i, v := range versions {
		list[i] = v.String()
	}
	return strings.Join(list, " and ")
}

// Findings returns hits as findings.
func Findings(hits []Hit) []diagnosis.Finding {
	list := make([]diagnosis.Finding, len(hits))
	for i, h := range hits {
		list[i] = h.Finding()
	}
	return list
}
