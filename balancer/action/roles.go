package action

import (
	"context"
	"time"

	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/preflight"
)

// rolesError is an error for a missing privilege, with the roles of the user.
type rolesError struct {
	err   error
	roles []string
}

// Error also names the roles of the user. The shortened text of the server's error
// (live.ShortenUnauthorized) names the role that has the privilege.
func (e *rolesError) Error() string { return e.err.Error() + "; " + preflight.RolesText(e.roles) }

// Unwrap returns the server's error.
func (e *rolesError) Unwrap() error { return e.err }

// rolesTimeout is the maximum time to read the roles. They only explain an error.
const rolesTimeout = 2 * time.Second

// withRoles adds the roles of the user to an error for a missing privilege.
func (c Cluster) withRoles(ctx context.Context, err error) error {
	if !mongoerr.Is(err, mongoerr.Unauthorized) || c.Client == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rolesTimeout)
	defer cancel()
	if _, roles, failed := live.ReadPrivileges(ctx, live.NewCommandRunner(c.Client)); failed == nil {
		return &rolesError{err, roles}
	}
	return err
}
