package live

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// sentCommands takes commands, and answers ok.
type sentCommands struct {
	CommandRunner
	list []bson.D
}

func (s *sentCommands) RunCommand(_ context.Context, _ string, command bson.D) (bson.Raw, error) {
	s.list = append(s.list, command)
	return bson.Marshal(bson.D{{Key: "ok", Value: 1}})
}

// An unsharded collection is moved as a range is: the lease is renewed before, and the command has the comment.
func TestMoveOfACollectionIsAMove(t *testing.T) {
	sent, renewed := &sentCommands{}, errors.New("the lease is lost")
	e := &Executor{commands: sent, routerRelease: catalog.Release80, comment: "shardsh 1",
		beforeMove: func(context.Context) error { return renewed }}
	move := policy.Migration{Namespace: "x.y", To: "b"}
	if err := e.moveCollection(t.Context(), move); !errors.Is(err, renewed) || len(sent.list) > 0 {
		t.Errorf("without the lease: %v, sent %v", err, sent.list)
	}
	renewed = nil
	if err := e.moveCollection(t.Context(), move); err != nil || len(sent.list) != 1 ||
		!slices.Contains(sent.list[0], bson.E{Key: "comment", Value: "shardsh 1"}) {
		t.Errorf("%v, sent %v", err, sent.list)
	}
}
