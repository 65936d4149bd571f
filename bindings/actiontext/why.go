package actiontext

import (
	"shardsh/balancer/action"
	"shardsh/bindings/findings"
)

// Why returns an answer as text.
func Why(r action.WhyResult) string {
	if r.Chunk != nil {
		return findings.ChunkText(*r.Chunk)
	}
	return findings.Text(*r.About)
}
