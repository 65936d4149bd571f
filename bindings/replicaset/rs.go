// Package replicaset implements the object rs, and the functions about a replica set's members and
// oplog.
package replicaset

import (
	"math"
	"slices"
	"strconv"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Host provides what rs needs from the shell.
type Host struct {
	JS      *script.Engine
	Gateway *server.Gateway
	Display *display.Display
	// DB returns the current database; nil without a connection.
	DB func() *server.Database
}

// Object is the Go side of rs. Most of its methods fail on a mongos.
type Object struct {
	script.OpaqueObject
	Host
}

// New returns the object rs.
func New(h Host) goja.Value {
	o := h.JS.NewInstance(&Object{Host: h}, script.PrototypeFromTables(h.JS, "ReplicaSet", methods))
	h.JS.Values.SetPrinter(o, func() string {
		d := h.DB()
		if d == nil {
			return "ReplicaSet class not connected"
		}
		return "ReplicaSet class connected to " + d.Conn.Address + " via db " + d.Name
	})
	return o
}

// db returns the current database; it throws without a connection.
func (rs *Object) db() *server.Database { return server.RequireDatabase(rs.JS, rs.DB()) }

func (rs *Object) runAdmin(body bson.D) bson.Raw { return rs.db().RunAdmin(body) }

func commandMethod(name string) func(*script.Call, *Object) goja.Value {
	return func(_ *script.Call, rs *Object) goja.Value {
		return rs.Display.ReplyValue(rs.runAdmin(server.Command(name)))
	}
}

// adminMethod returns a method that runs a database function on the admin database.
func adminMethod(f func(h Host, d *server.Database) goja.Value) func(*script.Call, *Object) goja.Value {
	return func(_ *script.Call, rs *Object) goja.Value { return f(rs.Host, rs.db().Sibling("admin")) }
}

func methods() script.Methods[*Object] {
	return script.Methods[*Object]{
		{"status", "", commandMethod("replSetGetStatus"), "Returns the members' states."},
		{"conf", "", rsConfig, "Returns the replica set's configuration."},
		{"config", "", rsConfig, "The same as conf."},
		{"hello", "", commandMethod("hello"), "Returns the server's role in the set."},
		{"isMaster", "", adminMethod(IsMaster), "The old name of hello."},
		{"initiate", "config?:object", func(c *script.Call, rs *Object) goja.Value {
			return rs.Display.ReplyValue(rs.runAdmin(bson.D{{Key: "replSetInitiate", Value: c.JS.DocumentOrEmpty(c.Arg(0))}}))
		}, "Initiates a replica set."},
		{"reconfig", "config:object options?:object", func(c *script.Call, rs *Object) goja.Value {
			return rs.reconfigure(c, c.Object(0), c.Arg(1))
		}, "Replaces the set's configuration; increments the version for you."},
		{"reconfigForPSASet", "newMemberIndex:number config:object options?:object", rsReconfigForPSA,
			"Adds a data-bearing member to a primary-secondary-arbiter set in two safe steps."},
		{"add", "member:string|object arbiter?:boolean", func(c *script.Call, rs *Object) goja.Value {
			return rs.addMember(c, c.Arg(1).ToBoolean())
		}, "Adds a member."},
		{"addArb", "host:string", func(c *script.Call, rs *Object) goja.Value { return rs.addMember(c, true) },
			"Adds an arbiter."},
		{"remove", "host:string", rsRemove, "Removes a member."},
		{"stepDown", "seconds?:number catchUp?:number", func(c *script.Call, rs *Object) goja.Value {
			var seconds any = int32(60)
			if c.Has(0) {
				seconds = c.JS.BSONValue(c.Arg(0))
			}
			body := bson.D{{Key: "replSetStepDown", Value: seconds}}
			if c.Has(1) {
				body = append(body, bson.E{Key: "secondaryCatchUpPeriodSecs", Value: c.JS.BSONValue(c.Arg(1))})
			}
			return rs.Display.ReplyValue(rs.runAdmin(body))
		}, "Makes the primary a secondary."},
		{"freeze", "seconds:number", func(c *script.Call, rs *Object) goja.Value {
			return rs.Display.ReplyValue(rs.runAdmin(bson.D{{Key: "replSetFreeze", Value: c.JS.BSONValue(c.Arg(0))}}))
		}, "Keeps a member from becoming primary."},
		{"syncFrom", "host:string", func(c *script.Call, rs *Object) goja.Value {
			return rs.Display.ReplyValue(rs.runAdmin(bson.D{{Key: "replSetSyncFrom", Value: c.Text(0)}}))
		}, "Makes this member replicate from another one."},
		{"secondaryOk", "", rsSecondaryOk, "Allows reads from secondaries."},
		{"slaveOk", "", rsSecondaryOk, ""},
		{"printReplicationInfo", "", adminMethod(PrintReplicationInfo), "Shows size and time span of the oplog."},
		{"printSecondaryReplicationInfo", "", adminMethod(PrintSecondaryReplicationInfo),
			"Shows how far the secondaries are behind."},
		{"printSlaveReplicationInfo", "", func(c *script.Call, _ *Object) goja.Value {
			c.JS.ThrowCoded(script.DeprecatedErrorName, script.CodeDeprecated,
				"printSlaveReplicationInfo has been deprecated. Use printSecondaryReplicationInfo instead")
			return nil
		}, ""},
	}
}

func rsSecondaryOk(_ *script.Call, rs *Object) goja.Value {
	rs.db().Conn.AllowSecondaries()
	return nil
}

func rsConfig(c *script.Call, rs *Object) goja.Value { return c.JS.Values.DocToJS(rs.config()) }

// config returns the set's configuration. If the server does not know the command, config reads the
// stored document.
func (rs *Object) config() bson.Raw {
	d := rs.db()
	reply, err := rs.Gateway.Send(d.Sibling("admin").Request(server.Command("replSetGetConfig"), server.Repeatable))
	if server.CodeOf(err) == mongoerr.CommandNotFound {
		doc := d.Sibling("local").FindOne("system.replset", rawdoc.Empty)
		if doc == nil {
			rs.JS.ThrowCoded(script.RuntimeErrorName, script.CodeCommandFailed, "No documents in local.system.replset")
		}
		return doc
	}
	if err != nil {
		rs.Gateway.Throw(err)
	}
	config, ok := reply.Lookup("config").DocumentOK()
	if !ok {
		rs.JS.ThrowCoded(script.RuntimeErrorName, script.CodeCommandFailed,
			"Documented returned from command replSetGetConfig does not contain 'config'")
	}
	return config
}

// nextConfig returns the configuration for modification, with its version incremented, and its members.
func (rs *Object) nextConfig() (config bson.D, members []bson.D) {
	raw := rs.config()
	if err := bson.Unmarshal(raw, &config); err != nil {
		rs.JS.ThrowConversion(err)
	}
	rawdoc.Set(&config, "version", rawdoc.MinimalInt(rawdoc.Int(raw, "version")+1))
	list, _ := raw.Lookup("members").ArrayOK()
	values, _ := list.Values()
	for _, v := range values {
		var m bson.D
		if err := v.Unmarshal(&m); err != nil {
			rs.JS.ThrowConversion(err)
		}
		members = append(members, m)
	}
	return config, members
}

func (rs *Object) reconfigWithMembers(config bson.D, members []bson.D) goja.Value {
	rawdoc.Set(&config, "members", members)
	return rs.Display.ReplyValue(rs.runAdmin(bson.D{{Key: "replSetReconfig", Value: config}}))
}

func (rs *Object) addMember(c *script.Call, arbiter bool) goja.Value {
	var member bson.D
	if o := c.Object(0); o != nil {
		if arbiter {
			c.JS.ThrowInvalid("Expected first parameter to be a host-and-port string of arbiter, but got %s", c.JS.EJSONText(o))
		}
		member = c.JS.Merge(bson.D{}, o)
	} else {
		member = bson.D{{Key: "host", Value: c.Text(0)}}
		if arbiter {
			member = append(member, bson.E{Key: "arbiterOnly", Value: true})
		}
	}
	config, members := rs.nextConfig()
	if !server.HasField(member, "_id") {
		highest := int64(-1)
		for _, m := range members {
			highest = max(highest, rawdoc.Int(rawdoc.MustMarshal(m), "_id"))
		}
		member = append(bson.D{{Key: "_id", Value: rawdoc.MinimalInt(highest + 1)}}, member...)
	}
	return rs.reconfigWithMembers(config, append(members, member))
}

func rsRemove(c *script.Call, rs *Object) goja.Value {
	config, members := rs.nextConfig()
	i := slices.IndexFunc(members, func(m bson.D) bool { return rawdoc.Text(rawdoc.MustMarshal(m), "host") == c.Text(0) })
	if i < 0 {
		c.JS.ThrowInvalid("Couldn't find %s in %s. Is %s a member of this replset?", c.Text(0),
			c.JS.EJSONText(c.JS.FromGo(members)), c.Text(0))
	}
	return rs.reconfigWithMembers(config, slices.Delete(members, i, i+1))
}

// reconfigure also increments the version in the script's own object, because scripts may use that
// object again.
func (rs *Object) reconfigure(c *script.Call, config *goja.Object, options goja.Value) goja.Value {
	old := rs.config()
	version := int64(1)
	if v := rawdoc.Number(old, "version"); v != 0 {
		version = int64(v) + 1
	}
	script.Must(config.Set("version", version))
	if v, err := old.LookupErr("protocolVersion"); err == nil && script.Property(config, "protocolVersion") == nil {
		script.Must(config.Set("protocolVersion", c.JS.Values.ToJS(v)))
	}
	body := bson.D{{Key: "replSetReconfig", Value: c.JS.Document(config)}}
	return rs.Display.ReplyValue(rs.runAdmin(c.JS.Merge(body, options)))
}

// rsReconfigForPSA first adds the vote of the new member and then its priority, because to do both in
// one step could lose majority-committed writes.
func rsReconfigForPSA(c *script.Call, rs *Object) goja.Value {
	index, config := c.Arg(0).ToInteger(), c.Object(1)
	say := func(text string) { rs.Display.Print([]goja.Value{c.JS.Runtime.ToValue(text)}) }
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
			script.OrUndefined(votes))
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
		script.OrUndefined(priority).String() + " }")
	script.Must(member.Set("priority", script.OrUndefined(priority)))
	var second goja.Value
	if ex := c.JS.Runtime.Try(func() { second = rs.reconfigure(c, config, c.Arg(2)) }); ex != nil {
		say("Second reconfig did not succeed, giving up")
		say("Attempted command: rs.reconfig(" + c.JS.EJSONText(config) + ", " +
			c.JS.EJSONText(script.ObjectOrUndefined(c.Object(2))) + ")")
		panic(ex)
	}
	return second
}

// checkNoVoteYet throws if the member already votes in the present configuration.
func (rs *Object) checkNoVoteYet(c *script.Call, index int64, member *goja.Object, say func(string)) {
	_, members := rs.nextConfig()
	id := math.NaN()
	if v := script.Property(member, "_id"); v != nil {
		id = v.ToFloat()
	}
	host := script.OptionalText(member.Get("host"))
	sameHost := false
	for _, m := range members {
		raw := rawdoc.MustMarshal(m)
		if rawdoc.Number(raw, "_id") == id {
			if votes, err := raw.LookupErr("votes"); err == nil && catalog.IsTruthyInJS(votes) {
				c.JS.ThrowInvalid("Node at index %d must have { votes: 0 } in the old config (actual: { votes: %s })", index,
					c.JS.Values.ToJS(votes))
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
