package action

import (
	"context"
	"time"

	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/preflight"
)

// rolesError is a refusal for a missing privilege, with the roles that the user has.
type rolesError struct {
	err   error
	roles []string
}

// Error says which roles the user has, too. The role that has the privilege stands in the
// shortened text of the refusal (live.ShortenUnauthorized).
func (e *rolesError) Error() string { return e.err.Error() + "; " + preflight.RolesText(e.roles) }

// Unwrap returns the refusal.
func (e *rolesError) Unwrap() error { return e.err }

// rolesTimeout is how long reading the roles may take: they only explain an error.
const rolesTimeout = 2 * time.Second

// withRoles adds the roles of the user to a refusal for a missing privilege.
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
