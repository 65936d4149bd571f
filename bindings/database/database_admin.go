package database

import (
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// databaseAdminMethods returns the methods that administer servers.
func databaseAdminMethods() script.Methods[*Database] {
	return script.Methods[*Database]{
		{"serverStatus", "options?:object", func(c *script.Call, d *Database) goja.Value {
			return d.host.Display.ReplyValue(d.RunAdmin(c.JS.Merge(server.Command("serverStatus"), c.Arg(0)), server.Repeatable))
		}, "Returns the server's counters."},
		{"serverBuildInfo", "", adminCommand("buildInfo"), "Returns the server's version and how it was built."},
		{"hostInfo", "", adminCommand("hostInfo"), "Returns the server's host and operating system."},
		{"serverCmdLineOpts", "", adminCommand("getCmdLineOpts"), "Returns the options the server was started with."},
		{"listCommands", "", dbListCommands, "Returns the commands the server knows."},
		{"commandHelp", "name:string", func(c *script.Call, d *Database) goja.Value {
			help, err := d.Run(bson.D{{Key: c.Text(0), Value: int32(1)}, {Key: "help", Value: true}}).LookupErr("help")
			if err != nil {
				c.JS.ThrowCoded(script.RuntimeErrorName, script.CodeCommandFailed, "Error running command commandHelp ")
			}
			return c.JS.Values.ToJS(help)
		}, "Returns the server's own help on a command."},
		{"currentOp", "filter?:boolean|object", dbCurrentOp, "Returns the operations that run now."},
		{"killOp", "id:any", func(c *script.Call, d *Database) goja.Value {
			return d.host.Display.ReplyValue(d.RunAdmin(server.Command("killOp",
				bson.E{Key: "op", Value: c.JS.BSONValue(c.Arg(0))})))
		}, "Ends an operation."},
		{"getProfilingStatus", "", func(_ *script.Call, d *Database) goja.Value {
			return d.host.Display.ReplyValue(d.Run(bson.D{{Key: "profile", Value: int32(-1)}}, server.Repeatable))
		}, "Returns the profiler's level."},
		{"setProfilingLevel", "level:number options?:number|object", dbSetProfilingLevel, "Sets the profiler's level."},
		{"getLogComponents", "", func(c *script.Call, d *Database) goja.Value {
			reply := d.RunAdmin(
				server.Command("getParameter", bson.E{Key: "logComponentVerbosity", Value: int32(1)}),
				server.Repeatable,
			)
			components, err := reply.LookupErr("logComponentVerbosity")
			if err != nil {
				c.JS.ThrowCoded(script.RuntimeErrorName, script.CodeCommandFailed, "Error running command  %s",
					rawdoc.Text(reply, "errmsg"))
			}
			return c.JS.Values.ToJS(components)
		}, "Returns the verbosity of each log component."},
		{"setLogLevel", "level:number component?:any", dbSetLogLevel, "Sets the verbosity of a log component."},
		{"fsyncLock", "", func(_ *script.Call, d *Database) goja.Value {
			return d.host.Display.ReplyValue(d.RunAdmin(server.Command("fsync", bson.E{Key: "lock", Value: true})))
		}, "Flushes and blocks writes."},
		{"fsyncUnlock", "", func(_ *script.Call, d *Database) goja.Value {
			return d.host.Display.ReplyValue(d.RunAdmin(server.Command("fsyncUnlock"))) // repeated, it ends a second lock
		}, "Ends fsyncLock."},
		{"shutdownServer", "options?:object", func(c *script.Call, d *Database) goja.Value {
			return d.host.Display.ReplyValue(d.RunAdmin(c.JS.Merge(server.Command("shutdown"), c.Arg(0))))
		}, "Stops the server."},
		{"rotateCertificates", "message?:string", func(c *script.Call, d *Database) goja.Value {
			body := server.Command("rotateCertificates")
			if c.Has(0) {
				body = append(body, bson.E{Key: "message", Value: c.Text(0)})
			}
			return d.host.Display.ReplyValue(d.RunAdmin(body))
		}, "Loads the TLS certificates again."},
		{"getLastError", "w?:any wtimeout?:number", func(c *script.Call, _ *Database) goja.Value {
			c.JS.Out.WarnDeprecated("Database.getLastError() is deprecated and has no effect. Errors are thrown.")
			return goja.Null()
		}, ""},
		{"getLastErrorObj", "", func(c *script.Call, _ *Database) goja.Value {
			c.JS.Out.WarnDeprecated("Database.getLastErrorObj() is deprecated and has no effect. Errors are thrown.")
			return c.JS.NewObject("err", goja.Null(), "ok", 1)
		}, ""},
		{"setSecondaryOk", "", func(_ *script.Call, d *Database) goja.Value { d.conn.AllowSecondaries(); return nil },
			"Deprecated: use setReadPref."},
		{"setSlaveOk", "", func(_ *script.Call, d *Database) goja.Value { d.conn.AllowSecondaries(); return nil }, ""},
		{"getSecondaryOk", "", dbSecondaryOk, ""},
		{"getSlaveOk", "", dbSecondaryOk, ""},
		{"getProfilingLevel", "", func(c *script.Call, d *Database) goja.Value {
			return c.JS.Values.ToJS(d.Run(bson.D{{Key: "profile", Value: int32(-1)}}, server.Repeatable).Lookup("was"))
		}, "Returns the profiler's level as a number."},
		{"cloneDatabase", "", removedMethod("cloneDatabase"), ""},
		{"copyDatabase", "", removedMethod("copyDatabase"), ""},
		{"cloneCollection", "", removedMethod("cloneCollection"), ""},
	}
}

// adminCommand returns a method that runs a command that only reads.
func adminCommand(name string) func(*script.Call, *Database) goja.Value {
	return func(_ *script.Call, d *Database) goja.Value {
		return d.host.Display.ReplyValue(d.RunAdmin(server.Command(name), server.Repeatable))
	}
}

func removedMethod(name string) func(*script.Call, *Database) goja.Value {
	return func(c *script.Call, _ *Database) goja.Value {
		c.JS.ThrowCoded(script.DeprecatedErrorName, script.CodeDeprecated,
			"`%s()` was removed because it was deprecated in MongoDB 4.0", name)
		return nil
	}
}

func dbSecondaryOk(c *script.Call, d *Database) goja.Value {
	return c.JS.Runtime.ToValue(d.conn.EffectiveReadPreference().Mode() != readpref.PrimaryMode)
}

// dbListCommands returns the commands, with the current terms for secondaries.
func dbListCommands(c *script.Call, d *Database) goja.Value {
	list, ok := d.Run(server.Command("listCommands"), server.Repeatable).Lookup("commands").DocumentOK()
	if !ok {
		c.JS.ThrowCoded(script.RuntimeErrorName, script.CodeCommandFailed, "Error running command listCommands ")
	}
	commands := c.JS.Values.DocToJS(list)
	for _, name := range commands.Keys() {
		about, _ := commands.Get(name).(*goja.Object)
		for _, word := range [][2]string{{"slaveOk", "secondaryOk"}, {"slaveOverrideOk", "secondaryOverrideOk"}} {
			if v := script.Property(about, word[0]); v != nil {
				script.Must(about.Set(word[1], v))
				script.Must(about.Delete(word[0]))
			}
		}
	}
	return commands
}

// dbCurrentOp lists operations with $currentOp (rules/04-objects §6.1). Some keys of the filter are
// options.
func dbCurrentOp(c *script.Call, d *Database) goja.Value {
	spec := bson.D{{Key: "allUsers", Value: true}, {Key: "idleConnections", Value: false},
		{Key: "truncateOps", Value: false}}
	var match bson.D
	filtered := true
	switch a := c.Arg(0); {
	case script.TypeOf(a) == "boolean":
		spec[1].Value = a.ToBoolean()
		filtered = false
	case c.Has(0) && !goja.IsNull(a):
		elems, err := c.JS.Document(a).Elements()
		if err != nil {
			c.JS.ThrowConversion(err)
		}
		for _, el := range elems {
			switch el.Key() {
			case "$all":
				spec[1].Value = catalog.IsTruthyInJS(el.Value())
			case "$ownOps":
				spec[0].Value = !catalog.IsTruthyInJS(el.Value())
			case "$truncateOps":
				spec[2].Value = catalog.IsTruthyInJS(el.Value())
			default:
				match = append(match, bson.E{Key: el.Key(), Value: el.Value()})
			}
		}
	}
	stages := func(spec bson.D) []bson.D {
		list := []bson.D{{{Key: "$currentOp", Value: spec}}}
		if filtered {
			if match == nil {
				match = bson.D{}
			}
			list = append(list, bson.D{{Key: "$match", Value: match}})
		}
		return list
	}
	ops, err := d.SiblingDatabase("admin").TryAggregate(int32(1), stages(spec)...)
	if server.CodeOf(err) == mongoerr.FailedToParse {
		ops, err = d.SiblingDatabase("admin").TryAggregate(int32(1), stages(spec[:2])...)
	}
	if err != nil {
		d.host.Gateway.Throw(err)
	}
	return c.JS.NewObject("inprog", c.JS.DocumentArray(ops), "ok", 1)
}

func dbSetProfilingLevel(c *script.Call, d *Database) goja.Value {
	level := c.Arg(0).ToFloat()
	if level < 0 || level > 2 || level != float64(int(level)) {
		c.JS.ThrowInvalid("Input level %s is out of range [0..2]", c.Arg(0))
	}
	body := bson.D{{Key: "profile", Value: int32(level)}}
	if goja.IsNumber(c.Arg(1)) {
		body = append(body, bson.E{Key: "slowms", Value: c.JS.BSONValue(c.Arg(1))})
	} else {
		body = c.JS.Merge(body, c.Arg(1))
	}
	return d.host.Display.ReplyValue(d.Run(body))
}

func dbSetLogLevel(c *script.Call, d *Database) goja.Value {
	var verbosity any = bson.D{{Key: "verbosity", Value: c.JS.BSONValue(c.Arg(0))}}
	if c.Has(1) {
		if !goja.IsString(c.Arg(1)) {
			c.JS.ThrowInvalid("setLogLevel component must be a string: got %s", script.TypeOf(c.Arg(1)))
		}
		parts := strings.Split(c.Text(1), ".")
		for i := len(parts) - 1; i >= 0; i-- {
			verbosity = bson.D{{Key: parts[i], Value: verbosity}}
		}
	}
	return d.host.Display.ReplyValue(d.RunAdmin(server.Command("setParameter",
		bson.E{Key: "logComponentVerbosity", Value: verbosity})))
}
