package sh

import (
	"testing"
	"time"

	"shardsh/balancer/catalog"
)

func TestReshardProgress(t *testing.T) {
	text, a := reshardProgress(catalog.ActiveResharding{
		Namespace: "app.x", State: "cloning", CopiedBytes: 150, TotalBytes: 800, Remaining: 90 * time.Second,
	})
	if text != "resharding app.x (cloning), servers estimate 1m30s left" || a.Done != 150 || a.Remaining != 650 {
		t.Error(text, a)
	}
	if text, a := reshardProgress(catalog.ActiveResharding{Namespace: "app.x"}); text != "resharding app.x" || a != nil {
		t.Error(text, a)
	}
}
