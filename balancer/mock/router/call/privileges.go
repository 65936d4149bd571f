package call

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// User is who the connection is logged in as, with the roles of now; nil
// without, or where the user was dropped.
func (n *Node) User(p *Peer) *access.User {
	if p.User == nil {
		return nil
	}
	u, _ := n.Users.Current(p.User)
	return u
}

// LogoutDropped logs out a connection whose user was dropped. Another user of the
// same name does not count.
func (n *Node) LogoutDropped(p *Peer) {
	if n.User(p) == nil {
		p.User = nil
	}
}

// IsLoggedInAs reports whether a connection is logged in as a user, or as nobody where
// that is nil.
func (p *Peer) IsLoggedInAs(u *access.User) bool {
	return p.User.SameAs(u)
}

// Grants returns what a connection may do. Where nobody has to log in it is
// nil, and not asked.
func (n *Node) Grants(p *Peer) *access.Grants {
	if p.User == nil {
		return nil
	}
	g, _ := n.Users.Grants(p.User)
	return g
}

// CheckPrivileges refuses what the caller's roles do not allow.
func (n *Node) CheckPrivileges(cmd *Command, c *Call) error {
	if !n.AuthRequired || cmd.NoAuth {
		return nil
	}
	if err := n.Authorize(cmd, c); err != nil {
		return err // the user has gone since the command came
	}
	if cmd.Privilege != nil && cmd.Privilege(c.AccessRequest()) {
		return nil
	}
	return c.Unauthorized()
}

// AccessRequest returns the call as input for the privilege rules.
func (c *Call) AccessRequest() access.Request {
	return access.Request{
		Name: c.Invoked, Database: c.DB, Body: c.Body.Raw, Args: c.Args,
		Directory: c.Node.Users, Caller: c.Peer.User, Grants: c.Node.Grants(c.Peer),
		RuleOf: func(name string) access.Rule {
			if cmd := c.Node.Table()[name]; cmd != nil {
				return cmd.Privilege
			}
			return nil
		},
		OwnOperation: func(id int64) bool {
			return slices.ContainsFunc(c.Node.Operations.List(), func(op Operation) bool {
				return int64(op.ID) == id && op.Call.Peer.Name() == c.Peer.Name()
			})
		},
	}
}

// Unauthorized returns the server's refusal of a command.
func (c *Call) Unauthorized() error {
	return mongoerr.New(mongoerr.Unauthorized, "not authorized on %s to execute command %s", c.DB,
		document.RawText(c.withoutSecrets()))
}

// withoutSecrets returns the command as an error may show it: without
// passwords, and without the documents of a write.
func (c *Call) withoutSecrets() bson.Raw {
	elems, err := c.Body.Elements()
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
	if c.Body.Lookup("$db").IsZero() {
		shown = append(shown, bson.E{Key: "$db", Value: c.DB})
	}
	raw, err := bson.Marshal(shown)
	if err != nil {
		return nil
	}
	return commands.WithoutSecrets(raw)
}
