package action

import "testing"

// Only what a drain leaves because it is not sharded is to be moved by hand.
func TestBlockOfOptions(t *testing.T) {
	if block, known := blockOf(refuse("{window} makes no sense")); known {
		t.Errorf("wrong options are a block: %+v", block)
	}
	block, known := blockOf(newUnshardedLeftError("Database app has its primary on s0"))
	const want = "Database app has its primary on s0; --move-primaries moves it"
	if !known || block.What != "unsharded" || block.Text != want {
		t.Errorf("what is not sharded: %+v", block)
	}
}
