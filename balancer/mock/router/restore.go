package router

import (
	"strings"

	"shardsh/balancer/mock/access"
)

// What the router knows and the cluster keeps: users and roles, and what retryable
// writes have done.

// restore takes over what the cluster kept, now and whenever another state takes
// its place. Users that are there stay. The caller holds the lock.
func (r *Router) restore() {
	r.restoreSecret()
	r.ConfiguredUsers = r.Users.Clone()
	r.restoreUsers(r.Users)
	for _, w := range r.Cluster.Storage().TakeWrites() {
		if !r.RestoreWrites(w.Session, w.Write) {
			r.Cluster.Storage().StoreWrite(w.Session, nil)
		}
	}
	r.Cluster.OnReplaced(r.adoptState)
}

// adoptState takes over the users of another cluster state, as a router would that
// began with it, and forgets what it lacks. The caller holds the lock.
func (r *Router) adoptState() {
	users := r.ConfiguredUsers.Clone()
	r.restoreUsers(users)
	r.Users.ReplaceWith(users)
	r.storeSecret()
	r.Sessions.ForgetWrites()
	r.Routes.Forget("")
}

// restoreSecret restores the secret that the cluster stored for the answers about unknown
// users, or creates one.
func (r *Router) restoreSecret() {
	secret, known := access.RestoreSecret(r.Cluster.Storage().StoredUsers()[access.SecretName])
	if !known {
		secret = access.NewSecret()
	}
	if err := r.Users.UseSecret(secret); err != nil {
		r.Logger.Error("users not made", "error", err)
	}
	r.storeSecret()
}

// storeSecret keeps the secret with the cluster where clients have to log in.
func (r *Router) storeSecret() {
	if !r.AuthRequired {
		return
	}
	stored, err := r.Users.StoredSecret()
	if err != nil {
		r.Logger.Error("secret not kept", "error", err)
		return
	}
	r.Cluster.Storage().StoreUser(access.SecretName, stored)
}

// restoreUsers puts the users and roles that the cluster kept into a directory,
// besides those that are there.
func (r *Router) restoreUsers(into *access.Directory) {
	for name, kept := range r.Cluster.Storage().StoredUsers() {
		if name == access.SecretName {
			continue
		}
		restore := func() error { return into.Restore(kept, false) }
		if strings.HasPrefix(name, access.RolePrefix) {
			restore = func() error { return into.RestoreRole(kept) }
		}
		if err := restore(); err != nil {
			r.Logger.Error("user not restored", "user", name, "error", err)
		}
	}
}
