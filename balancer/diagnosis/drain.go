package diagnosis

import (
	"fmt"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
)

// DrainState is the progress of a draining, in the words of servers since 8.3.
type DrainState string

// The states of a draining. Older servers do not report DrainCleanup.
const (
	DrainOff      DrainState = "notDraining"
	DrainOngoing  DrainState = "ongoing"
	DrainCleanup  DrainState = "pendingDataCleanup"
	DrainFinished DrainState = "drainingComplete"
)

// Drain describes the progress of a shard's draining and what is left on the shard.
type Drain struct {
	Shard catalog.ShardID
	State DrainState
	// Chunks counts all remaining chunks except those of Collections; -1 when the server does not
	// report the number. Jumbo counts those of them that are flagged jumbo.
	Chunks, Jumbo int64
	// Databases have the shard as their primary. Collections are unsharded collections on the shard. An
	// operator has to move both.
	Databases, Collections []string
	// Disabled are the sharded collections on the shard whose balancing is disabled; DisabledChunks
	// counts their chunks on the shard.
	Disabled       []DisabledCollection
	DisabledChunks int64
	// JumboToForce counts the jumbo chunks of other collections that an operator has to move.
	// ForceCommands moves them.
	JumboToForce  int64
	ForceCommands []string
	// NotMarked says that the shard is not marked as draining, and that the Drain describes a draining
	// that has not begun.
	NotMarked bool
	// DisabledByRun says that a run of shardsh has left some of the collections in Disabled disabled.
	DisabledByRun bool
}

// DisabledCollection is a collection with disabled balancing, and the commands that enable it.
type DisabledCollection struct {
	Namespace      string
	EnableCommands []string
}

// DrainOf returns the progress of a shard's draining: what the server reported, or else what the
// catalog says.
func DrainOf(s *catalog.Snapshot, shard catalog.ShardState) Drain {
	d := Drain{Shard: shard.ID, State: DrainOff, Databases: []string{}, Collections: []string{}}
	waits := s.Release().ForcesJumbo()
	for _, c := range Sharded(s) {
		count := c.CountOn(shard.ID)
		n, hold, run := count.Chunks, DisabledByOf(c.Collection, s.Release()), s.BalancingDisabledBy(c.Namespace)
		switch {
		case hold == NotDisabled && count.Jumbo > 0 && waits:
			d.JumboToForce += count.Jumbo
			d.ForceCommands = append(d.ForceCommands, forcedMoves(c, shard.ID, s.Release())...)
		case n == 0, hold == NotDisabled, hold == DisabledNoBalance && run != nil && run.Running:
		case hold == DisabledNoBalance && run != nil:
			d.DisabledByRun, d.DisabledChunks = true, d.DisabledChunks+n
		default:
			d.Disabled = append(d.Disabled, DisabledCollection{c.Namespace, enableCommands(c.Collection, s.Release())})
			d.DisabledChunks += n
		}
	}
	if r := shard.ReportedDrain; r != nil {
		d.State, d.Chunks, d.Jumbo = DrainState(r.State), r.Chunks, r.Jumbo
		d.Databases, d.Collections = r.Databases, r.Collections
		return d
	}
	if !shard.Draining {
		return d
	}
	for _, db := range s.Parts().Databases {
		if db.Primary == shard.ID {
			d.Databases = append(d.Databases, db.Name)
		}
	}
	for _, c := range s.Collections() {
		n := c.CountOn(shard.ID)
		if !c.Unsplittable {
			d.Chunks, d.Jumbo = d.Chunks+n.Chunks, d.Jumbo+n.Jumbo
		} else if n.Chunks > 0 {
			d.Collections = append(d.Collections, c.Namespace)
		}
	}
	d.State = DrainOngoing
	if d.isEmpty() {
		d.State = DrainFinished
	}
	return d
}

func (d Drain) isEmpty() bool {
	return d.Chunks == 0 && len(d.Databases) == 0 && len(d.Collections) == 0
}

// IsDone reports whether nothing is left to move.
func (d Drain) IsDone() bool {
	return d.State == DrainFinished || d.State == "completed" || d.State == DrainOngoing && d.isEmpty()
}

// IsStuck reports whether the balancer can't move any of the remaining data, while an operator can.
func (d Drain) IsStuck() bool {
	return len(d.Commands()) > 0 && d.Chunks >= 0 && d.Chunks <= d.DisabledChunks+d.JumboToForce
}

// Commands returns the commands that an operator has to run before the shard is empty.
func (d Drain) Commands() (list []string) {
	if d.DisabledByRun {
		list = append(list, giveBackCommand)
	}
	for _, held := range d.Disabled {
		list = append(list, held.EnableCommands...)
	}
	list = append(list, d.ForceCommands...)
	for _, ns := range d.Collections {
		list = append(list, fmt.Sprintf("sh.moveCollection(%q, <shard>)", ns))
	}
	for _, name := range d.Databases {
		list = append(list, fmt.Sprintf("sh.movePrimary(%q, <shard>)", name))
	}
	return list
}

// forcedMoves returns the commands that move the first jumbo chunks of a collection off a shard.
func forcedMoves(c *catalog.CollectionState, id catalog.ShardID, r catalog.Release) (list []string) {
	if c.Table == nil {
		return []string{fmt.Sprintf("sh.chunks(%q, { shard: %q, jumbo: true })", c.Namespace, string(id)),
			forcedMove(r, c.Namespace, "<min>", "<max>")}
	}
	for chunk := range c.Table.JumboChunks() {
		if len(list) == maxJumboCommands {
			break
		}
		if chunk.Shard == id {
			list = append(list, forcedMove(r, c.Namespace,
				humanize.Literal(c.Pattern.Bound(chunk.Min)), humanize.Literal(c.Pattern.Bound(chunk.Max))))
		}
	}
	return list
}

// forcedMove returns the command that moves a chunk regardless of its size.
func forcedMove(r catalog.Release, ns, lower, upper string) string {
	if !r.FCVAtLeast(catalog.Release60) {
		return fmt.Sprintf("db.adminCommand({ moveChunk: %q, bounds: [%s, %s], to: <shard>, forceJumbo: true })",
			ns, lower, upper)
	}
	return fmt.Sprintf("sh.moveRange(%q, <shard>, %s, %s, { forceJumbo: true })", ns, lower, upper)
}

// String describes the progress in words.
func (d Drain) String() string {
	text := fmt.Sprintf("shard %s is draining", d.Shard)
	if d.NotMarked {
		text = fmt.Sprintf("shard %s is not empty", d.Shard)
	}
	if d.Chunks >= 0 {
		text += fmt.Sprintf(", %s left", humanize.Count(d.Chunks, "chunk"))
	}
	if d.Jumbo > 0 {
		text += fmt.Sprintf(" (%d jumbo)", d.Jumbo)
	}
	if len(d.Databases) > 0 {
		text += ", databases to move: " + strings.Join(d.Databases, " ")
	}
	return text
}

// OperatorFinding returns a finding about what an operator has to do before the shard is empty. Callers
// must check that Commands is not empty.
func (d Drain) OperatorFinding() Finding {
	state := "is draining"
	switch {
	case d.NotMarked:
		state = "is not empty"
	case d.IsStuck():
		state = "is stuck draining"
	}
	sentence := fmt.Sprintf("shard %s %s; you must %s", d.Shard, state, strings.Join(d.commandCounts(), ", "))
	return finding(DrainNeedsOperator, Scope{Shard: d.Shard}, sentence, d.Commands()...)
}

// commandCounts returns a counted summary of Commands.
func (d Drain) commandCounts() (list []string) {
	if d.JumboToForce > 0 {
		list = append(list, "move "+humanize.Count(d.JumboToForce, "jumbo chunk")+" by force")
	}
	for _, of := range []struct {
		n          int
		verb, what string
	}{
		{len(d.Disabled), "enable balancing of", "collection"},
		{len(d.Collections), "move", "unsharded collection"},
		{len(d.Databases), "move", "database"},
	} {
		if of.n > 0 {
			list = append(list, of.verb+" "+humanize.Count(of.n, of.what))
		}
	}
	return list
}

// shardFindings returns the findings about each shard.
func (d *Diagnosis) shardFindings() (list []Finding) {
	for _, shard := range d.Shards() {
		if shard.Draining {
			list = append(list, drainFindings(d.Snapshot, shard)...)
		}
	}
	return list
}

// DrainedFindings returns the findings about an empty shard: that the shard can be removed, or why not.
func DrainedFindings(s *catalog.Snapshot, shard catalog.ShardState) []Finding {
	if kept := OnlyShardFindings(s, shard); len(kept) > 0 {
		return kept
	}
	sentence := fmt.Sprintf("shard %s is empty and can be removed", shard.ID)
	return []Finding{finding(DrainComplete, Scope{Shard: shard.ID}, sentence,
		fmt.Sprintf("sh.drain(%q, { remove: true })", shard.ID))}
}

func drainFindings(s *catalog.Snapshot, shard catalog.ShardState) (list []Finding) {
	d, scope := DrainOf(s, shard), Scope{Shard: shard.ID}
	if d.IsDone() {
		return DrainedFindings(s, shard)
	}
	if len(d.Commands()) > 0 {
		list = append(list, d.OperatorFinding())
	}
	f := finding(Draining, scope, d.String())
	if d.Chunks >= 0 {
		f.Numbers = countNumbers("chunks", d.Chunks, Number{Name: "jumboChunks", Value: d.Jumbo})
	}
	f.Numbers = append(f.Numbers, Number{Name: "databases", Value: int64(len(d.Databases))},
		Number{Name: "collections", Value: int64(len(d.Collections))})
	return append(list, f)
}
