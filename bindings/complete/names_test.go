package complete

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// The names of a request that was running when an input was evaluated may be outdated: the next Tab asks again.
func TestNamesOfARunningRequestAreOutdated(t *testing.T) {
	var lists nameLists
	defer lists.close()
	answer, asked := make(chan struct{}), 0
	fetch := func(context.Context, *mongo.Client) []string { asked++; <-answer; return []string{"old"} }
	_, loading := lists.startFetch(nameKey{listName: "databases"}, fetch)
	lists.invalidate()
	close(answer)
	<-loading
	lists.get(nil, "databases", fetch)
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	if lists.get(nil, "databases", fetch); asked != 2 {
		t.Errorf("asked %d times, though the names are new", asked)
	}
}
