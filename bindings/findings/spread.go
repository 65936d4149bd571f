package findings

import (
	"fmt"

	"shardsh/balancer/humanize"

	"shardsh/balancer/diagnosis"
)

// maxSpreadShards is the maximum number of shards of a zone that are shown, the farthest from the ideal
// first.
const maxSpreadShards = 10

// writeSpreads writes the distribution of a collection over its shards.
func (p *page) writeSpreads(list []diagnosis.Spread) {
	for _, one := range list {
		where := "the shards"
		if one.Zone != "" {
			where = "the shards of zone " + one.Zone
		}
		title := fmt.Sprintf("Over %s: the ideal is %s each", where, amountText(one.Ideal, one.Unit))
		if one.Threshold > 0 {
			title += fmt.Sprintf("; data moves when the difference is %s or more", amountText(one.Threshold, one.Unit))
		}
		p.WriteString("\n")
		p.writeWrapped(0, title)
		p.writeShares(one)
	}
}

func (p *page) writeShares(one diagnosis.Spread) {
	shown := one.Shards[:min(len(one.Shards), maxSpreadShards)]
	rows := make([][]string, len(shown))
	for i, share := range shown {
		sign := "+"
		if share.Over < 0 {
			sign = "-"
		}
		rows[i] = []string{string(share.Shard), amountText(share.Bytes, diagnosis.Bytes),
			humanize.Count(int(share.Chunks), "chunk"), sign + amountText(max(share.Over, -share.Over), one.Unit)}
		if share.Draining {
			rows[i] = append(rows[i], "draining")
		}
	}
	p.writeGrid(rows, 1, 2, 3)
	if rest := one.Shards[len(shown):]; len(rest) > 0 {
		p.writeLine(2,
			fmt.Sprintf("and %d more within %s of the ideal", len(rest), amountText(max(rest[0].Over, -rest[0].Over), one.Unit)))
	}
}

func amountText(n int64, unit diagnosis.Unit) string {
	if unit == diagnosis.Count {
		return humanize.Count(n, "chunk")
	}
	return diagnosis.Number{Value: n, Unit: unit}.Text()
}
