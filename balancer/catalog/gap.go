package catalog

import "shardsh/balancer/mongoerr"

// Gap is something that a reader could not get.
type Gap struct {
	What      string  // such as "sizes" or "changelog"
	Shard     ShardID // empty when it is not about one shard
	Namespace string  // empty when it is not about one collection
	Reason    string
	Down      bool // a server said that another one did not answer
	// Code and CodeName are the server's; zero when no server said why.
	Code     mongoerr.Code
	CodeName string
}

// atlasError is what Atlas answers to whatever it does not let its users do. It
// is none of the server's own codes.
const atlasError mongoerr.Code = 8000

// Refused reports whether a server knew the answer and would not give it to this
// user: another user may be told.
func (g Gap) Refused() bool { return g.Code == mongoerr.Unauthorized || g.Code == atlasError }
