package call

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// User returns the authenticated user of a connection with their current roles. It returns nil if there
// is none or the user was dropped.
func (n *Node) User(p *ConnState) *access.User {
	if p.User == nil {
		return nil
	}
	u, _ := n.Users.Current(p.User)
	return u
}

// LogoutDropped logs out a connection whose user was dropped, even if a new user has the same name.
func (n *Node) LogoutDropped(p *ConnState) {
	if n.User(p) == nil {
		p.User = nil
	}
}

// IsLoggedInAs reports whether a connection is authenticated as u; nil stands for an unauthenticated
// connection.
func (p *ConnState) IsLoggedInAs(u *access.User) bool {
	return p.User.SameAs(u)
}

// Grants returns the privileges of a connection. It returns nil without a user; if no authentication is
// required, nobody checks them.
func (n *Node) Grants(p *ConnState) *access.Grants {
	if p.User == nil {
		return nil
	}
	g, _ := n.Users.Grants(p.User)
	return g
}

// CheckPrivileges rejects a command that the user's roles do not allow.
func (n *Node) CheckPrivileges(cmd *Command, c *Call) error {
	if !n.AuthRequired || cmd.NoAuth {
		return nil
	}
	if err := n.RequireLogin(cmd, c); err != nil {
		return err // the user was dropped after the command arrived
	}
	if cmd.Privilege != nil && cmd.Privilege(c.AccessRequest()) {
		return nil
	}
	return c.UnauthorizedError()
}

// AccessRequest returns the call as input for the authorization rules.
func (c *Call) AccessRequest() access.Request {
	return access.Request{
		Name: c.InvokedAs, Database: c.DB, Body: c.Body.Raw, Args: c.Args,
		Directory: c.Node.Users, Caller: c.Conn.User, Grants: c.Node.Grants(c.Conn),
		RuleOf: func(name string) access.Rule {
			if cmd := c.Node.Table()[name]; cmd != nil {
				return cmd.Privilege
			}
			return nil
		},
		IsOwnOperation: func(id int64) bool {
			return slices.ContainsFunc(c.Node.Operations.List(), func(op Operation) bool {
				return int64(op.ID) == id && op.Call.Conn.UserName() == c.Conn.UserName()
			})
		},
	}
}

// UnauthorizedError returns the server's error for a command without the required privileges.
func (c *Call) UnauthorizedError() error {
	return mongoerr.New(mongoerr.Unauthorized, "not authorized on %s to execute command %s", c.DB,
		document.RawText(c.withoutSecrets()))
}

// withoutSecrets returns a copy of the command for an error message, without passwords and without the
// documents of a write.
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
