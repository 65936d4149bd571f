package diagnosis

import (
	"slices"
)

// Summary is an Answer reduced to what an operator has to know first. It has no repeats, and groups
// findings that differ only in their scope.
type Summary struct {
	// ToDo are the findings that the operator has to act on, the most severe first.
	ToDo []Group
	// ThenByItself are findings that resolve themselves once their causes in ToDo are done.
	ThenByItself []Group
	// ByItself are the findings that end by themselves.
	ByItself []Group
	// Notes are worth knowing, but prevent nothing.
	Notes []Group
}

// Group holds findings of one code, severity and actor. It is never empty.
type Group []Finding

// First returns the finding that stands for the others.
func (g Group) First() Finding { return g[0] }

// Summary returns what is wrong and why, without repeats.
func (a Answer) Summary() Summary {
	var s Summary
	left := slices.DeleteFunc(slices.Clone(a.Causes), func(f Finding) bool { return f.Code != LeftPaused })
	all := withoutRepeats(slices.Concat(left, a.Symptoms, a.Causes)) // left comes first: its findings name the run
	var own, others []Finding
	for _, f := range all {
		if f.Actor == Operator {
			own = append(own, f)
		} else {
			others = append(others, f)
		}
	}
	sortCauses(own)
	sortBySeverity(own)
	s.ToDo = groupByCode(own)
	var waiting, alone []Finding
	for _, f := range others {
		if slices.ContainsFunc(own, func(cause Finding) bool { return isCauseOf(cause, f) }) {
			waiting = append(waiting, f)
		} else {
			alone = append(alone, f)
		}
	}
	if len(own) == 0 && len(alone) == 1 {
		alone = nil // the headline says it
	}
	s.ThenByItself, s.ByItself, s.Notes = groupByCode(waiting), groupByCode(alone), groupByCode(a.Notes)
	return s
}

// GroupFindings returns findings without repeats, the most severe first. Findings that differ only in
// their scope are in one Group.
func GroupFindings(list []Finding) []Group {
	rest := withoutRepeats(list)
	sortBySeverity(rest)
	return groupByCode(rest)
}

// HeadlineIsFirst reports whether the answer's headline says the same as the first finding in ToDo.
func (s Summary) HeadlineIsFirst(a Answer) bool {
	return len(s.ToDo) > 0 && isSameFinding(s.ToDo[0].First(), a.headlineFinding())
}

// withoutRepeats leaves out findings that add nothing: repeats, findings with the same commands, and a
// finding about a draining shard if another finding says why its draining does not end.
func withoutRepeats(list []Finding) (rest []Finding) {
	for _, f := range list {
		if f.Code == OnlyJumboChunks && slices.ContainsFunc(list, func(o Finding) bool {
			return o.Code == JumboChunks && o.Scope.Namespace == f.Scope.Namespace && slices.Equal(o.Commands, f.Commands)
		}) {
			continue // the other finding says where they are
		}
		if !slices.ContainsFunc(rest, func(said Finding) bool { return saysNothingNew(said, f) }) {
			rest = append(rest, f)
		}
	}
	return rest
}

func saysNothingNew(said, f Finding) bool {
	near := said.Scope == f.Scope || said.Scope == Scope{}
	return isSameFinding(said, f) || near && len(f.Commands) > 0 && slices.Equal(said.Commands, f.Commands) ||
		f.Code == Draining && said.Code == DrainNeedsOperator && said.Scope.Shard == f.Scope.Shard
}

// isCauseOf reports whether a cause keeps a condition from ending: the cause is about the whole
// cluster, or about the same collection, zone or shard.
func isCauseOf(cause, f Finding) bool {
	switch of := cause.Scope; {
	case of == Scope{}:
		return slices.Contains(causeCodes, cause.Code)
	case f.Code == Draining && (cause.Code == NoRecipient || of.Shard == f.Scope.Shard):
		return true
	case of.Namespace != "":
		return of.Namespace == f.Scope.Namespace
	case of.Zone != "":
		return of.Zone == f.Scope.Zone
	default:
		return of.Shard == f.Scope.Shard
	}
}

// groupByCode groups findings that differ only in their scope, in the order of the first finding of
// each group.
func groupByCode(list []Finding) (groups []Group) {
	for _, f := range list {
		i := slices.IndexFunc(groups, func(g Group) bool {
			first := g.First()
			return first.Code == f.Code && first.Severity == f.Severity && first.Actor == f.Actor
		})
		if i < 0 {
			groups = append(groups, Group{f})
		} else {
			groups[i] = append(groups[i], f)
		}
	}
	return groups
}
