package catalog

import (
	"fmt"

	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
)

// Gap is a part of a Snapshot that could not be read.
type Gap struct {
	What      string  // such as "sizes" or "changelog"; empty if Reason names the part
	Shard     ShardID // empty if it does not concern one shard
	Namespace string  // empty if it does not concern one collection
	Reason    string
	Down      bool // a server has reported that another server did not answer
	// Code and CodeName are from the server's error; zero if there is none.
	Code     mongoerr.Code
	CodeName string
}

// GapTexts describes the gaps with their reasons. Collections with the same reason share a text.
func GapTexts(gaps []Gap) []string {
	type kind struct {
		what, reason string
		shard        ShardID
		named        bool
	}
	var order []kind
	first, count := map[kind]string{}, map[kind]int{}
	for _, g := range gaps {
		k := kind{g.What, g.Reason, g.Shard, g.Namespace != ""}
		if count[k] == 0 {
			order, first[k] = append(order, k), g.Namespace
		}
		count[k]++
	}
	texts := make([]string, len(order))
	for i, k := range order {
		what := k.what
		if k.named {
			what += " of " + first[k]
		}
		if n := count[k]; k.named && n > 1 {
			what += fmt.Sprintf(" and %s", humanize.Count(n-1, "more collection"))
		}
		if k.shard != "" {
			what += " of " + string(k.shard)
		}
		texts[i] = Gap{What: what, Reason: k.reason}.Text()
	}
	return texts
}

// Text describes the gap with its reason.
func (g Gap) Text() string {
	if g.What == "" {
		return g.Reason
	}
	return g.What + " could not be read: " + g.Reason
}
