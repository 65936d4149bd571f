package sh

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/bindings/applying"
	"shardsh/bindings/script"
)

// moveRest moves what is left on a shard that has no chunks that the balancer would
// move: unsharded collections and databases, each to the shard with fewest databases.
func (sh *Helpers) moveRest(d diagnosis.Drain) {
	takers := applying.TakersOf(sh.look(live.Look{Parts: live.Shards | live.Databases}).Snapshot, d.Shard)
	move := func(kind, name string, command func(to string) bson.D) {
		to := string(takers.Next())
		if to == "" {
			sh.s.JS.Throw(script.RuntimeError, "no other shard could take the %s %s: all are draining", kind, name)
		}
		sh.admin(command(to))
		sh.s.JS.Out.Warn(fmt.Sprintf("The %s %s is on %s now.", kind, name, to))
	}
	for _, ns := range d.Collections {
		move("collection", ns, func(to string) bson.D {
			return bson.D{{Key: "moveCollection", Value: ns}, {Key: "toShard", Value: to}}
		})
	}
	for _, name := range d.Databases {
		move("database", name, func(to string) bson.D {
			return bson.D{{Key: "movePrimary", Value: name}, {Key: "to", Value: to}}
		})
	}
}
