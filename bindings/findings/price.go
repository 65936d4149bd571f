package findings

import (
	"fmt"
	"strconv"

	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
	"shardsh/balancer/price"
)

// WayComparisonText returns the ways to a goal side by side, the recommended one with its reason and commands,
// and notes on each way.
func WayComparisonText(q price.Comparison) string {
	var p page
	goal := string(q.Goal.Kind)
	if q.Goal.Kind == plan.Drain {
		goal += " of " + string(q.Goal.Shard)
	}
	if q.Done {
		p.writeWrapped(0, fmt.Sprintf("%s, %s: nothing is left to do.", q.Namespace, goal))
		return p.String()
	}
	p.writeWrapped(0, fmt.Sprintf("Ways for %s, %s:", q.Namespace, goal))
	rows := [][]string{{"way", "time", "copied", "moves", "fullest disk", "needs"}}
	for _, w := range q.Ways {
		rows = append(rows, wayRow(w, w.Kind == q.Recommended))
	}
	p.writeGrid(rows, 2, 3)
	for _, w := range q.Ways {
		if w.Refused != "" {
			p.writeWrapped(2, sentence(fmt.Sprintf("Not %s: %s", w.Kind.Name(), w.Refused)))
		}
	}
	best, chosen := q.Way(q.Recommended)
	if !chosen {
		p.writeHeading("Recommended: none")
		p.writeWrapped(2, sentence(humanize.Capitalized(q.Reason)))
	} else {
		p.writeHeading("Recommended: " + best.Kind.Name())
		p.writeWrapped(2, sentence(humanize.Capitalized(q.Reason)))
		p.writeWrapped(2, sentence("Writes wait: "+best.WritesBlocked))
		if best.Irreversible == "" {
			p.writeWrapped(2, "It can be stopped, resumed and undone (shardsh apply --undo).")
		} else {
			p.writeWrapped(2, sentence("Can't be undone: "+best.Irreversible))
		}
		p.writeWrapped(2, sentence("Needs: "+best.Needs))
		p.writeCommands(4, best.Commands)
	}
	p.writeHeading("Basis")
	for _, line := range q.Basis {
		p.writeWrapped(2, line)
	}
	p.writeWrapped(2, "--json has the bytes of each link, the peak of each disk, and the commands of each way")
	return p.String()
}

func wayRow(w price.Way, recommended bool) []string {
	name, disk := w.Kind.Name(), "unknown"
	if recommended {
		name = "* " + name
	}
	if peak, known := w.FullestPeak(); known {
		disk = fmt.Sprintf("%s %s", peak.Shard, humanize.Percent(peak.Share()))
	}
	moves, time := strconv.Itoa(w.Moves), w.TimeRange()
	if w.Moves == 0 {
		moves = "at once"
	}
	if w.Refused != "" {
		time = "no"
	}
	return []string{name, time, humanize.Bytes(w.Bytes), moves, disk, w.NeededRelease()}
}
