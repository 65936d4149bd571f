package router

import (
	"strings"

	"shardsh/balancer/mock/access"
)

// The cluster stores state of the router: users and roles, and the results of retryable writes.

// restore loads the stored state, now and whenever the cluster's state is replaced. Existing users stay.
// The caller holds the lock.
func (r *Router) restore() {
	r.restoreSecret()
	r.ConfiguredUsers = r.Users.Clone()
	r.restoreUsers(r.Users)
	for _, w := range r.Cluster.Storage().TakeRetryableWrites() {
		if !r.RestoreWrites(w.Session, w.Write) {
			r.Cluster.Storage().StoreRetryableWrite(w.Session, nil)
		}
	}
	r.Cluster.OnReplaced(r.onStateReplaced)
}

// onStateReplaced loads the users of a new cluster state and removes all others but the configured users, as
// if the router had started with that state. The caller holds the lock.
func (r *Router) onStateReplaced() {
	users := r.ConfiguredUsers.Clone()
	r.restoreUsers(users)
	r.Users.ReplaceWith(users)
	r.storeSecret()
	r.Sessions.ForgetWrites()
	r.Routes.Forget("")
}

// restoreSecret loads the stored secret for answers about unknown users, or creates one.
func (r *Router) restoreSecret() {
	secret, known := access.ReadStoredSecret(r.Cluster.Storage().StoredUsers()[access.SecretName])
	if !known {
		secret = access.NewSecret()
	}
	if err := r.Users.UseSecret(secret); err != nil {
		r.Logger.Error("the secret for logins of unknown users could not be used", "error", err)
	}
	r.storeSecret()
}

// storeSecret stores the secret in the cluster if authentication is required.
func (r *Router) storeSecret() {
	if !r.AuthRequired {
		return
	}
	stored, err := r.Users.StoredSecret()
	if err != nil {
		r.Logger.Error("the secret for logins of unknown users could not be stored", "error", err)
		return
	}
	r.Cluster.Storage().StoreUser(access.SecretName, stored)
}

// restoreUsers adds the stored users and roles to a directory.
func (r *Router) restoreUsers(into *access.Directory) {
	for name, kept := range r.Cluster.Storage().StoredUsers() {
		if name == access.SecretName {
			continue
		}
		restore := func() error { return into.Restore(kept, false) }
		if strings.HasPrefix(name, access.StoredRolePrefix) {
			restore = func() error { return into.RestoreRole(kept) }
		}
		if err := restore(); err != nil {
			r.Logger.Error("a stored user could not be restored", "user", name, "error", err)
		}
	}
}
