package live

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/policy"
)

// Interrupt asks the servers to stop the moves of this turn that are under way, and
// returns how many of their operations it found. They are known by their comment, on
// the mongos that we talk to and on shards; and on donors, which are not told it, by
// the collection: a donor has one migration at a time. One that is past its copy is
// not stopped any more.
func (t *LeasedCluster) Interrupt(ctx context.Context) (found int, err error) {
	moves := t.underWay()
	for _, onMongos := range []bool{false, true} {
		where := bson.A{bson.D{{Key: "command.comment", Value: t.executor.comment}}}
		if !onMongos {
			where = append(where, donors(moves)...)
		}
		ops, err := t.executor.list(ctx, "admin", aggregate(1,
			bson.D{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: true}, {Key: "localOps", Value: onMongos}}}},
			bson.D{{Key: "$match", Value: bson.D{{Key: "$or", Value: where}}}}))
		if err != nil {
			return found, err
		}
		for _, op := range ops {
			_, err := t.executor.ask(ctx, "admin", bson.D{{Key: "killOp", Value: 1}, {Key: "op", Value: op.Lookup("opid")}})
			if err != nil {
				return found, err
			}
			found++
		}
	}
	return found, nil
}

// donors finds the operations of migrations on their donors.
func donors(moves []policy.Migration) (where bson.A) {
	for _, m := range moves {
		of := func(field string) bson.D {
			return bson.D{{Key: "shard", Value: string(m.From)}, {Key: field, Value: m.Namespace}}
		}
		where = append(where, of("command._shardsvrMoveRange"), of("command.moveChunk"))
	}
	return where
}

// begun notes a move until ended is called.
func (t *LeasedCluster) begun(m policy.Migration) (ended func()) {
	t.moving.Lock()
	defer t.moving.Unlock()
	t.moves = append(t.moves, &m)
	return func() {
		t.moving.Lock()
		defer t.moving.Unlock()
		t.moves = slices.DeleteFunc(t.moves, func(other *policy.Migration) bool { return other == &m })
	}
}

func (t *LeasedCluster) underWay() (list []policy.Migration) {
	t.moving.Lock()
	defer t.moving.Unlock()
	for _, m := range t.moves {
		list = append(list, *m)
	}
	return list
}

// Comment is what moves of this turn are known by among the operations of servers.
func (t *LeasedCluster) Comment() string { return t.executor.comment }
