package findings

import (
	"fmt"
	"strconv"
	"strings"

	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
	"shardsh/balancer/price"
)

// QuoteText returns the ways to a goal side by side, the recommended one with its reason and
// commands, and what is to be known of each.
func QuoteText(q price.Quote) string {
	var p page
	goal := string(q.Goal.Kind)
	if q.Goal.Kind == plan.Drain {
		goal += " of " + string(q.Goal.Shard)
	}
	if q.Done {
		p.wrapped(0, fmt.Sprintf("%s, %s: nothing is left to do.", q.Namespace, goal))
		return p.String()
	}
	p.wrapped(0, fmt.Sprintf("Ways for %s, %s:", q.Namespace, goal))
	rows := [][]string{{"way", "time", "copied", "moves", "fullest disk", "needs"}}
	for _, w := range q.Ways {
		rows = append(rows, quoteRow(w, w.Kind == q.Recommended))
	}
	p.grid(rows, 2, 3)
	for _, w := range q.Ways {
		if w.Refused != "" {
			p.wrapped(2, sentence(fmt.Sprintf("Not %s: %s", w.Kind.Name(), w.Refused)))
		}
	}
	best, chosen := q.Way(q.Recommended)
	if !chosen {
		p.heading("Recommended: none")
		p.wrapped(2, capital(q.Reason))
	} else {
		p.heading("Recommended: " + best.Kind.Name())
		p.wrapped(2, capital(q.Reason))
		p.wrapped(2, sentence("Writes wait: "+best.Blocks))
		if best.Final == "" {
			p.wrapped(2, "It can be stopped, gone on with and undone (shardsh apply --undo).")
		} else {
			p.wrapped(2, sentence("Can't be undone: "+best.Final))
		}
		p.wrapped(2, sentence("Needs: "+best.Needs))
		p.commands(4, best.Commands)
	}
	p.heading("Basis")
	for _, line := range q.Basis {
		p.wrapped(2, line)
	}
	p.wrapped(2, "--json has the bytes of each link, the peak of each disk, and the commands of each way")
	return p.String()
}

// capital begins a sentence with a capital letter.
func capital(text string) string { return sentence(strings.ToUpper(text[:1]) + text[1:]) }

func quoteRow(w price.Way, recommended bool) []string {
	name, disk := w.Kind.Name(), "unknown"
	if recommended {
		name = "* " + name
	}
	if peak, known := w.Fullest(); known {
		disk = fmt.Sprintf("%s %s", peak.Shard, humanize.Percent(peak.Share()))
	}
	moves, time := strconv.Itoa(w.Moves), w.Range()
	if w.Moves == 0 {
		moves = "at once"
	}
	if w.Refused != "" {
		time = "no"
	}
	return []string{name, time, humanize.Bytes(w.Bytes), moves, disk, w.Short()}
}
