package bindings

import (
	"math"
	"slices"
	"strconv"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// replicaSet is the rs object. Connected to a mongos it is of little use.
type replicaSet struct {
	script.Hidden
	s *Shell
}

func (s *Shell) newReplicaSet() goja.Value {
	o := s.JS.Instance(&replicaSet{s: s}, prototype(s, "ReplicaSet", replicaSetMethods()))
	s.JS.World.SetPrinter(o, func() string {
		if s.db == nil {
			return "ReplicaSet class not connected"
		}
		return "ReplicaSet class connected to " + s.db.on.Address + " via db " + s.db.Name
	})
	return o
}

func (rs *replicaSet) admin(body bson.D) bson.Raw { return rs.s.requireDB().Admin(body) }

func rsCommand(name string) func(*call, *replicaSet) goja.Value {
	return func(c *call, rs *replicaSet) goja.Value { return c.s.display.Reply(rs.admin(server.Command(name))) }
}

// viaAdmin runs a helper of databases on the admin database.
func viaAdmin(f func(*call, *database) goja.Value) func(*call, *replicaSet) goja.Value {
	return func(c *call, rs *replicaSet) goja.Value { return f(c, rs.s.requireDB().sibling("admin")) }
}

func replicaSetMethods() []method[*replicaSet] {
	return []method[*replicaSet]{
		{"status", "", rsCommand("replSetGetStatus"), "Returns the members' states."},
		{"conf", "", rsConfig, "Returns the replica set's configuration."},
		{"config", "", rsConfig, "The same as conf."},
		{"hello", "", rsCommand("hello"), "Returns the server's part in the set."},
		{"isMaster", "", viaAdmin(dbIsMaster), "The old name of hello."},
		{"initiate", "config?:object", func(c *call, rs *replicaSet) goja.Value {
			return c.s.display.Reply(rs.admin(bson.D{{Key: "replSetInitiate", Value: c.JS.Optional(c.Arg(0))}}))
		}, "Makes the server a replica set."},
		{"reconfig", "config:object options?:object", func(c *call, rs *replicaSet) goja.Value {
			return rs.reconfigure(c, c.Object(0), c.Arg(1))
		}, "Gives the set another configuration; the version is counted up for you."},
		{"reconfigForPSASet", "newMemberIndex:number config:object options?:object", rsReconfigForPSA,
			"Adds a data-bearing member to a primary-secondary-arbiter set in two safe steps."},
		{"add", "member:string|object arbiter?:boolean", func(c *call, rs *replicaSet) goja.Value {
			return rs.addMember(c, c.Arg(1).ToBoolean())
		}, "Adds a member."},
		{"addArb", "host:string", func(c *call, rs *replicaSet) goja.Value { return rs.addMember(c, true) },
			"Adds an arbiter."},
		{"remove", "host:string", rsRemove, "Removes a member."},
		{"stepDown", "seconds?:number catchUp?:number", func(c *call, rs *replicaSet) goja.Value {
			var seconds any = int32(60)
			if c.Has(0) {
				seconds = c.JS.Value(c.Arg(0))
			}
			body := bson.D{{Key: "replSetStepDown", Value: seconds}}
			if c.Has(1) {
				body = append(body, bson.E{Key: "secondaryCatchUpPeriodSecs", Value: c.JS.Value(c.Arg(1))})
			}
			return c.s.display.Reply(rs.admin(body))
		}, "Makes the primary a secondary."},
		{"freeze", "seconds:number", func(c *call, rs *replicaSet) goja.Value {
			return c.s.display.Reply(rs.admin(bson.D{{Key: "replSetFreeze", Value: c.JS.Value(c.Arg(0))}}))
		}, "Keeps a member from becoming primary."},
		{"syncFrom", "host:string", func(c *call, rs *replicaSet) goja.Value {
			return c.s.display.Reply(rs.admin(bson.D{{Key: "replSetSyncFrom", Value: c.Text(0)}}))
		}, "Makes this member read from another one."},
		{"secondaryOk", "", rsSecondaryOk, "Allows reads from secondaries."},
		{"slaveOk", "", rsSecondaryOk, ""},
		{"printReplicationInfo", "", viaAdmin(dbPrintReplicationInfo), "Shows size and time span of the oplog."},
		{"printSecondaryReplicationInfo", "", viaAdmin(dbPrintSecondaryReplicationInfo),
			"Shows how far the secondaries are behind."},
		{"printSlaveReplicationInfo", "", func(c *call, _ *replicaSet) goja.Value {
			c.JS.ThrowCoded(script.Deprecated, script.CodeDeprecated,
				"printSlaveReplicationInfo has been deprecated. Use printSecondaryReplicationInfo instead")
			return nil
		}, ""},
	}
}

func rsSecondaryOk(_ *call, rs *replicaSet) goja.Value {
	rs.s.requireDB().on.allowSecondaries()
	return nil
}

func rsConfig(c *call, rs *replicaSet) goja.Value { return c.JS.World.DocToJS(rs.config()) }

// config returns the set's configuration, from the document the server keeps
// where it does not know the command.
func (rs *replicaSet) config() bson.Raw {
	d := rs.s.requireDB()
	reply, err := rs.s.gateway.Send(d.sibling("admin").Request(server.Command("replSetGetConfig"), server.Reads))
	if server.CodeOf(err) == server.CommandNotFound {
		doc := d.sibling("local").FindOne("system.replset", rawdoc.Empty)
		if doc == nil {
			rs.s.JS.ThrowCoded(script.RuntimeError, script.CodeCommandFailed, "No documents in local.system.replset")
		}
		return doc
	}
	if err != nil {
		rs.s.gateway.Throw(err)
	}
	config, ok := reply.Lookup("config").DocumentOK()
	if !ok {
		rs.s.JS.ThrowCoded(script.RuntimeError, script.CodeCommandFailed,
			"Documented returned from command replSetGetConfig does not contain 'config'")
	}
	return config
}

// editedConfig returns the configuration as a document to change, its version
// counted up, and its members.
func (rs *replicaSet) editedConfig() (config bson.D, members []bson.D) {
	raw := rs.config()
	if err := bson.Unmarshal(raw, &config); err != nil {
		rs.s.JS.ThrowConversion(err)
	}
	set(&config, "version", rawdoc.Small(rawdoc.Int(raw, "version")+1))
	list, _ := raw.Lookup("members").ArrayOK()
	values, _ := list.Values()
	for _, v := range values {
		var m bson.D
		if err := v.Unmarshal(&m); err != nil {
			rs.s.JS.ThrowConversion(err)
		}
		members = append(members, m)
	}
	return config, members
}

// set gives a field of a document a value, at its old place if it has one.
func set(d *bson.D, key string, value any) {
	if i := slices.IndexFunc(*d, func(e bson.E) bool { return e.Key == key }); i >= 0 {
		(*d)[i].Value = value
		return
	}
	*d = append(*d, bson.E{Key: key, Value: value})
}

func (rs *replicaSet) setMembers(c *call, config bson.D, members []bson.D) goja.Value {
	set(&config, "members", members)
	return c.s.display.Reply(rs.admin(bson.D{{Key: "replSetReconfig", Value: config}}))
}

func (rs *replicaSet) addMember(c *call, arbiter bool) goja.Value {
	var member bson.D
	if o := c.Object(0); o != nil {
		if arbiter {
			c.JS.ThrowInvalid("Expected first parameter to be a host-and-port string of arbiter, but got %s", c.json(o))
		}
		member = c.JS.Merge(bson.D{}, o)
	} else {
		member = bson.D{{Key: "host", Value: c.Text(0)}}
		if arbiter {
			member = append(member, bson.E{Key: "arbiterOnly", Value: true})
		}
	}
	config, members := rs.editedConfig()
	if !server.HasField(member, "_id") {
		highest := int64(-1)
		for _, m := range members {
			highest = max(highest, rawdoc.Int(rawdoc.Of(m), "_id"))
		}
		member = append(bson.D{{Key: "_id", Value: rawdoc.Small(highest + 1)}}, member...)
	}
	return rs.setMembers(c, config, append(members, member))
}

func rsRemove(c *call, rs *replicaSet) goja.Value {
	config, members := rs.editedConfig()
	i := slices.IndexFunc(members, func(m bson.D) bool { return rawdoc.Text(rawdoc.Of(m), "host") == c.Text(0) })
	if i < 0 {
		c.JS.ThrowInvalid("Couldn't find %s in %s. Is %s a member of this replset?", c.Text(0),
			c.json(c.JS.GoValue(members)), c.Text(0))
	}
	return rs.setMembers(c, config, slices.Delete(members, i, i+1))
}

// reconfigure counts the version up in the script's own object, as scripts that
// go on with it expect.
func (rs *replicaSet) reconfigure(c *call, config *goja.Object, options goja.Value) goja.Value {
	old := rs.config()
	version := int64(1)
	if v := rawdoc.Number(old, "version"); v != 0 {
		version = int64(v) + 1
	}
	script.Must(config.Set("version", version))
	if v, err := old.LookupErr("protocolVersion"); err == nil && script.Property(config, "protocolVersion") == nil {
		script.Must(config.Set("protocolVersion", c.JS.World.ToJS(v)))
	}
	body := bson.D{{Key: "replSetReconfig", Value: c.JS.Document(config)}}
	return c.s.display.Reply(rs.admin(c.JS.Merge(body, options)))
}

// rsReconfigForPSA returns the new member a vote first and its priority second:
// one step could lose majority-committed writes.
func rsReconfigForPSA(c *call, rs *replicaSet) goja.Value {
	index, config := c.Arg(0).ToInteger(), c.Object(1)
	say := func(text string) { c.s.display.Print([]goja.Value{c.JS.Runtime.ToValue(text)}) }
	list, _ := script.Property(config, "members").(*goja.Object)
	var member *goja.Object
	if list != nil {
		member, _ = list.Get(strconv.Itoa(int(index))).(*goja.Object)
	}
	if member == nil {
		c.JS.ThrowInvalid("Node at index %d does not exist in the new config", index)
	}
	if votes := script.Property(member, "votes"); votes == nil || votes.ToFloat() != 1 {
		c.JS.ThrowInvalid("Node at index %d must have { votes: 1 } in the new config (actual: { votes: %s })", index,
			orUndefined(votes))
	}
	rs.checkNoVoteYet(c, index, member, say)
	priority := script.Property(member, "priority")
	say("Running first reconfig to give member at index " + strconv.Itoa(int(index)) + " { votes: 1, priority: 0 }")
	script.Must(member.Set("votes", 1))
	script.Must(member.Set("priority", 0))
	first := rs.reconfigure(c, config, c.Arg(2))
	if priority != nil && priority.ToFloat() == 0 {
		say("No second reconfig necessary because .priority = 0")
		return first
	}
	say("Running second reconfig to give member at index " + strconv.Itoa(int(index)) + " { priority: " +
		orUndefined(priority).String() + " }")
	script.Must(member.Set("priority", orUndefined(priority)))
	var second goja.Value
	if ex := c.JS.Runtime.Try(func() { second = rs.reconfigure(c, config, c.Arg(2)) }); ex != nil {
		say("Second reconfig did not succeed, giving up")
		say("Attempted command: rs.reconfig(" + c.json(config) + ", " + c.json(optionsOrUndefined(c.Object(2))) + ")")
		panic(ex)
	}
	return second
}

// checkNoVoteYet refuses when the member votes in the present configuration.
func (rs *replicaSet) checkNoVoteYet(c *call, index int64, member *goja.Object, say func(string)) {
	_, members := rs.editedConfig()
	id := math.NaN()
	if v := script.Property(member, "_id"); v != nil {
		id = v.ToFloat()
	}
	host := script.OptionalText(member.Get("host"))
	sameHost := false
	for _, m := range members {
		raw := rawdoc.Of(m)
		if rawdoc.Number(raw, "_id") == id {
			if votes, err := raw.LookupErr("votes"); err == nil && rawdoc.Truthy(votes) {
				c.JS.ThrowInvalid("Node at index %d must have { votes: 0 } in the old config (actual: { votes: %s })", index,
					c.JS.World.ToJS(votes))
			}
			return
		}
		sameHost = sameHost || rawdoc.Text(raw, "host") == host
	}
	if sameHost {
		say("Warning: Node at index " + strconv.Itoa(int(index)) + " has { host: \"" + host +
			"\" }, which is also present in the old config, but with a different _id field.")
	}
}

func orUndefined(v goja.Value) goja.Value {
	if v == nil {
		return goja.Undefined()
	}
	return v
}

// json returns a value as JSON.stringify writes it, for messages.
func (c *call) json(v goja.Value) string {
	text, err := c.JS.World.EJSON(v, false, "")
	if err != nil {
		return v.String()
	}
	return text
}
