package findings

import (
	"fmt"

	"shardsh/balancer/humanize"

	"shardsh/balancer/diagnosis"
)

// shardsShown is how many shards of a zone are shown, the farthest from the ideal.
const shardsShown = 10

// spreads writes how a collection lies over its shards.
func (p *page) spreads(list []diagnosis.Spread) {
	for _, one := range list {
		where := "the shards"
		if one.Zone != "" {
			where = "the shards of zone " + one.Zone
		}
		title := fmt.Sprintf("Over %s: the ideal is %s each", where, amount(one.Ideal, one.Unit))
		if one.Threshold > 0 {
			title += fmt.Sprintf("; data moves when the difference is %s or more", amount(one.Threshold, one.Unit))
		}
		p.WriteString("\n")
		p.wrapped(0, title)
		p.shares(one)
	}
}

func (p *page) shares(one diagnosis.Spread) {
	shown := one.Shards[:min(len(one.Shards), shardsShown)]
	rows := make([][]string, len(shown))
	for i, share := range shown {
		sign := "+"
		if share.Over < 0 {
			sign = "-"
		}
		rows[i] = []string{string(share.Shard), amount(share.Bytes, diagnosis.Bytes),
			humanize.Count(int(share.Chunks), "chunk"), sign + amount(max(share.Over, -share.Over), one.Unit)}
		if share.Draining {
			rows[i] = append(rows[i], "draining")
		}
	}
	p.grid(rows, 1, 2, 3)
	if rest := one.Shards[len(shown):]; len(rest) > 0 {
		p.line(2, fmt.Sprintf("and %d more within %s of that", len(rest), amount(max(rest[0].Over, -rest[0].Over), one.Unit)))
	}
}

func amount(n int64, unit diagnosis.Unit) string {
	shown := diagnosis.Number{Value: n, Unit: unit}.Text()
	if unit == diagnosis.Count {
		return shown + " chunks"
	}
	return shown
}
