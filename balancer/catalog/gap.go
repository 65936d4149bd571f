package catalog

import (
	"fmt"

	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
)

// Gap is something that a reader could not get.
type Gap struct {
	What      string  // such as "sizes" or "changelog"; empty when the reader left out what Reason says
	Shard     ShardID // empty when it is not about one shard
	Namespace string  // empty when it is not about one collection
	Reason    string
	Down      bool // a server said that another one did not answer
	// Code and CodeName are the server's; zero when no server said why.
	Code     mongoerr.Code
	CodeName string
}

// codeAtlasError is what Atlas answers to whatever it does not let its users do. It
// is none of the server's own codes.
const codeAtlasError mongoerr.Code = 8000

// IsUnauthorized reports whether a server knew the answer and would not give it to this
// user: another user may be allowed to read it.
func (g Gap) IsUnauthorized() bool {
	return g.Code == mongoerr.Unauthorized || g.Code == codeAtlasError
}

// GapTexts says what could not be read, and why. Collections with the same reason share a
// text.
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

// Text says what is missing, and why.
func (g Gap) Text() string {
	if g.What == "" {
		return g.Reason
	}
	return g.What + " could not be read: " + g.Reason
}
