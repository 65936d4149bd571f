package bindings

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// replicaSet is the rs object. Connected to a mongos it is of little use.
type replicaSet struct {
	tail
	s *Shell
}

func (s *Shell) newReplicaSet() goja.Value {
	o := s.instance(&replicaSet{s: s}, prototype(s, "ReplicaSet", replicaSetMethods()))
	s.world.SetPrinter(o, func() string {
		if s.db == nil {
			return "ReplicaSet class not connected"
		}
		return "ReplicaSet class connected to " + s.db.on.address + " via db " + s.db.name
	})
	return o
}

func (rs *replicaSet) admin(body bson.D) bson.Raw { return rs.s.requireDB().admin(body) }

func rsCommand(name string) func(*call, *replicaSet) goja.Value {
	return func(c *call, rs *replicaSet) goja.Value { return c.reply(rs.admin(command(name))) }
}

func rsConfig(c *call, rs *replicaSet) goja.Value {
	return c.world.ToJS(rs.admin(command("replSetGetConfig")).Lookup("config"))
}

func replicaSetMethods() []method[*replicaSet] {
	return []method[*replicaSet]{
		{"status", "", rsCommand("replSetGetStatus"), "Returns the members' states."},
		{"conf", "", rsConfig, "Returns the replica set's configuration."},
		{"config", "", rsConfig, "The same as conf."},
		{"hello", "", rsCommand("hello"), "Returns the server's part in the set."},
		{"isMaster", "", rsCommand("isMaster"), "The old name of hello."},
		{"stepDown", "seconds?:number catchUp?:number", func(c *call, rs *replicaSet) goja.Value {
			var seconds any = int32(60)
			if c.has(0) {
				seconds = c.value(c.arg(0))
			}
			body := bson.D{{Key: "replSetStepDown", Value: seconds}}
			if c.has(1) {
				body = append(body, bson.E{Key: "secondaryCatchUpPeriodSecs", Value: c.value(c.arg(1))})
			}
			return c.reply(rs.admin(body))
		}, "Makes the primary a secondary."},
		{"freeze", "seconds:number", func(c *call, rs *replicaSet) goja.Value {
			return c.reply(rs.admin(bson.D{{Key: "replSetFreeze", Value: c.value(c.arg(0))}}))
		}, "Keeps a member from becoming primary."},
	}
}
