package findings_test

import (
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/bindings/findings"
)

// A long answer has what is wrong and why it is so once, where both are the same.
func TestLongAnswerSaysThingsOnce(t *testing.T) {
	jumbo := diagnosis.NewFinding(diagnosis.OnlyJumboChunks, diagnosis.Scope{Namespace: "x.y", Shard: catalog.ShardID("a")},
		"x.y: the only chunk on a is jumbo")
	text := findings.AnswerText(diagnosis.Answer{Symptoms: []diagnosis.Finding{jumbo}, Causes: []diagnosis.Finding{jumbo}}, true)
	if n := strings.Count(text, "(onlyJumboChunks)"); n != 1 {
		t.Errorf("%d times:\n%s", n, text)
	}
}
