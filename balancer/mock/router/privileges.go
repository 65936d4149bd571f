package router

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// user is who the connection is logged in as, with the roles of now; nil
// without, or where the user was dropped.
func (n *node) user(p *peer) *access.User {
	if p.user == nil {
		return nil
	}
	u, _ := n.users.Current(p.user)
	return u
}

// forgetGone logs a connection out whose user was dropped. Another user of the
// same name is not who has logged in.
func (n *node) forgetGone(p *peer) {
	if n.user(p) == nil {
		p.user = nil
	}
}

// is reports whether a connection is logged in as a user, or as nobody where
// that is nil.
func (p *peer) is(u *access.User) bool {
	return p.user.Is(u)
}

// grants returns what a connection may do. Where nobody has to log in it is
// nil, and not asked.
func (n *node) grants(p *peer) *access.Grants {
	if p.user == nil {
		return nil
	}
	g, _ := n.users.Grants(p.user)
	return g
}

// checkPrivileges refuses what the caller's roles do not allow.
func (n *node) checkPrivileges(cmd *command, c *call) error {
	if !n.authRequired || cmd.Anyone {
		return nil
	}
	if err := n.authorize(cmd, c); err != nil {
		return err // the user has gone since the command came
	}
	if cmd.Privilege != nil && cmd.Privilege(c.asked()) {
		return nil
	}
	return c.unauthorized()
}

// asked returns the call as the rules of privileges see it.
func (c *call) asked() access.Request {
	return access.Request{
		Name: c.invoked, Database: c.db, Body: c.body.Raw, Args: c.args,
		Directory: c.node.users, Caller: c.peer.user, Grants: c.node.grants(c.peer),
		RuleOf: func(name string) access.Rule {
			if cmd := c.node.commands[name]; cmd != nil {
				return cmd.Privilege
			}
			return nil
		},
		OwnOperation: func(id int64) bool {
			return slices.ContainsFunc(c.node.operations.list(), func(op operation) bool {
				return int64(op.id) == id && op.call.peer.name() == c.peer.name()
			})
		},
	}
}

// unauthorized returns the server's refusal of a command.
func (c *call) unauthorized() error {
	return mongoerr.New(mongoerr.Unauthorized, "not authorized on %s to execute command %s", c.db,
		document.Shown(c.withoutSecrets()))
}

// withoutSecrets returns the command as an error may show it: without
// passwords, and without the documents of a write.
func (c *call) withoutSecrets() bson.Raw {
	elems, err := c.body.Elements()
	if err != nil {
		return nil
	}
	shown := bson.D{}
	for _, e := range elems {
		switch name := e.Key(); {
		case slices.Contains([]string{"documents", "updates", "deletes", "ops"}, name):
		default:
			shown = append(shown, bson.E{Key: name, Value: e.Value()})
		}
	}
	if c.body.Lookup("$db").IsZero() {
		shown = append(shown, bson.E{Key: "$db", Value: c.db})
	}
	raw, err := bson.Marshal(shown)
	if err != nil {
		return nil
	}
	return commands.WithoutSecrets(raw)
}

// showsDatabase reports whether listDatabases may show one to the caller.
func showsDatabase(c *call) func(name string) bool {
	may := c.node.grants(c.peer)
	only := c.body.Lookup("authorizedDatabases")
	if !c.node.authRequired || !args.Truth(only) && may.Allows(access.TheCluster(), "listDatabases") {
		return func(string) bool { return true }
	}
	return may.AllowsSomeIn
}

// showsCollection reports whether listCollections may show one to the caller.
func showsCollection(c *call) func(name string) bool {
	if !c.node.authRequired || !args.Truth(c.body.Lookup("authorizedCollections")) {
		return func(string) bool { return true }
	}
	may := c.node.grants(c.peer)
	return func(name string) bool { return may.AllowsSome(access.On(c.db, name)) }
}
