package live

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/policy"
)

// Interrupt kills the moves of this process that are in progress, and returns how many of
// their operations it found: by their comment on the mongos and on shards, and by the
// collection on donors, which don't get the comment but run one migration at a time. A move
// that has finished copying can't be stopped.
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

// donors selects the operations of migrations on their donors.
func donors(moves []policy.Migration) (where bson.A) {
	for _, m := range moves {
		of := func(field string) bson.D {
			return bson.D{{Key: "shard", Value: string(m.From)}, {Key: field, Value: m.Namespace}}
		}
		where = append(where, of("command._shardsvrMoveRange"), of("command.moveChunk"))
	}
	return where
}

// begun registers a move until ended is called.
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

// Comment returns the comment of this process's moves in the operations of servers.
func (t *LeasedCluster) Comment() string { return t.executor.comment }
