package diagnosis

import (
	"fmt"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Defragmentation describes the progress of a collection's defragmentation
// (rules/02-defragmentation-and-merging §2.8).
type Defragmentation struct {
	Running bool
	// Phase is the phase in progress; empty or "none" while the balancer has not begun.
	Phase string
	// RemainingChunks is how many chunks the phase has still to process; -1 when the number is unknown.
	RemainingChunks int64
}

// DefragmentationOf returns the progress of a defragmentation: what the server reported, or else what
// the collection's entry says.
func DefragmentationOf(c *catalog.CollectionState) Defragmentation {
	r := c.ReportedStatus
	switch {
	case r == nil && c.Defragment:
		return Defragmentation{Running: true, Phase: c.DefragmentationPhase, RemainingChunks: -1}
	case r != nil && r.Violation == policy.ViolationDefragmenting:
		return Defragmentation{Running: true, Phase: r.Phase, RemainingChunks: r.RemainingChunks}
	}
	return Defragmentation{RemainingChunks: -1}
}

// IsWaiting reports whether the collection waits for the balancer to begin, or to
// clean up after a stop.
func (d Defragmentation) IsWaiting() bool { return d.Running && (d.Phase == "" || d.Phase == "none") }

// String describes the progress in words.
func (d Defragmentation) String() string {
	switch {
	case !d.Running:
		return "not running"
	case d.IsWaiting():
		return "waiting for the balancer"
	case d.RemainingChunks >= 0:
		return fmt.Sprintf("%s, %s left", d.Phase, humanize.Count(d.RemainingChunks, "chunk"))
	}
	return d.Phase
}

func defragmentationFindings(c *catalog.CollectionState) []Finding {
	d := DefragmentationOf(c)
	if !d.Running {
		return nil
	}
	code := Defragmenting
	if d.IsWaiting() {
		code = DefragmentationIdle
	}
	f := finding(code, Scope{Namespace: c.Namespace}, fmt.Sprintf("%s is being defragmented (%s)", c.Namespace, d))
	f.InsteadOfWaiting = []string{fmt.Sprintf("sh.stopDefragment(%q)", c.Namespace)}
	if d.RemainingChunks >= 0 {
		f.Numbers = countNumbers("remainingChunks", d.RemainingChunks)
	}
	return []Finding{f}
}
