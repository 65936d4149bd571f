package actiontext

import (
	"shardsh/balancer/action"
	"shardsh/bindings/findings"
)

// Why returns an answer as text: one screen, or everything if long.
func Why(r action.WhyResult, long bool) string {
	if r.Chunk != nil {
		return findings.ChunkText(*r.Chunk)
	}
	return findings.AnswerText(*r.Answer, long)
}
