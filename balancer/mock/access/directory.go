// Package access stores the users and roles of the mock cluster and authenticates clients with
// SCRAM-SHA-256 and SCRAM-SHA-1. It does not store passwords, only the credentials that a server stores.
package access

import (
	"cmp"
	"crypto/rand"
	"maps"
	"slices"
	"sync"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mongoerr"
)

// Role names a role that a user or another role has.
type Role struct {
	Role     string `bson:"role"`
	Database string `bson:"db"`
}

// User is one user. A User is immutable: an update makes a new User, so the exported fields may be read
// without a lock.
type User struct {
	Name, Database string
	ID             bson.Binary
	Roles          []Role
	CustomData     bson.Raw
	credentials    map[Mechanism]scram.StoredCredentials
	// derive makes the credentials of a configured user once the directory's secret is known (see
	// UseSecret).
	derive func(secret []byte) (map[Mechanism]scram.StoredCredentials, error)
}

// SameAs reports whether u and other are versions of the same user. A user that was dropped and created
// again under the same name is a different user. Two nil users are the same.
func (u *User) SameAs(other *User) bool {
	if u == nil || other == nil {
		return u == other
	}
	return u.Name == other.Name && u.Database == other.Database && u.ID.Equal(other.ID)
}

// Mechanisms returns the mechanisms that the user can authenticate with, in the order in which servers
// list them.
func (u *User) Mechanisms() []Mechanism {
	var list []Mechanism
	for _, m := range []Mechanism{SHA1, SHA256} {
		if _, ok := u.credentials[m]; ok {
			list = append(list, m)
		}
	}
	return list
}

type key struct{ database, name string }

// Directory stores the users and roles of a cluster. It is safe for concurrent use.
type Directory struct {
	mu sync.RWMutex
	// secret is the seed of the answers to unauthenticated clients about users that do not exist.
	secret []byte
	users  map[key]*User
	roles  map[key]*RoleDefinition // created roles, without the built-in ones
	// grants caches the privileges of users.
	grants map[key]*Grants
}

// NewDirectory returns a directory without users.
func NewDirectory() *Directory {
	return &Directory{
		secret: NewSecret(),
		users:  map[key]*User{},
		roles:  map[key]*RoleDefinition{},
		grants: map[key]*Grants{},
	}
}

// Clone returns a directory with the same users and roles.
func (d *Directory) Clone() *Directory {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return &Directory{
		secret: d.secret, users: maps.Clone(d.users), roles: maps.Clone(d.roles), grants: map[key]*Grants{},
	}
}

// ReplaceWith replaces the users and roles with those of other in one step and keeps the secret. The
// caller must not use other afterwards.
func (d *Directory) ReplaceWith(other *Directory) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users, d.roles = other.users, other.roles
	d.clearGrants()
}

// randomBytes returns n random bytes. It never fails: crypto/rand ends the process instead.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// UserSpec describes a user to create, or the fields to change in an existing user.
type UserSpec struct {
	// Password is in clear text; an empty password means no change.
	Password   string
	Mechanisms []Mechanism
	// Roles replace the user's roles; nil means no change.
	Roles      []Role
	CustomData bson.Raw
}

// Create adds a user. It fails with 51003 if the user exists, with BadValue if the password cannot be
// prepared, and with RoleNotFound.
func (d *Directory) Create(database, name string, spec UserSpec) error {
	credentials, err := spec.makeCredentials(name)
	if err != nil {
		return err
	}
	u := &User{Name: name, Database: database, ID: newID()}
	u.apply(spec, credentials)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.add(u)
}

// add stores a new user. The caller holds the lock.
func (d *Directory) add(u *User) error {
	k := key{u.Database, u.Name}
	if d.users[k] != nil {
		return mongoerr.New(mongoerr.UserExists, "User \"%s@%s\" already exists", u.Name, u.Database)
	}
	if err := d.checkRoles(u.Roles); err != nil {
		return err
	}
	d.users[k] = u
	return nil
}

func newID() bson.Binary { return ids.UUID([16]byte(randomBytes(16))) }

// makeCredentials derives the credentials of the password; nil without one. It takes long, so the caller
// must not hold the lock.
func (s UserSpec) makeCredentials(user string) (map[Mechanism]scram.StoredCredentials, error) {
	if s.Password == "" {
		return nil, nil
	}
	return makeCredentials(user, s.Password, s.Mechanisms, randomSalt)
}

// apply changes the fields that the specification has.
func (u *User) apply(spec UserSpec, credentials map[Mechanism]scram.StoredCredentials) {
	if credentials != nil {
		u.credentials = credentials
	}
	if spec.Roles != nil {
		u.Roles = spec.Roles
	}
	if spec.CustomData != nil {
		u.CustomData = spec.CustomData
	}
}

// checkRoles fails with RoleNotFound if a role does not exist. The caller holds the lock.
func (d *Directory) checkRoles(roles []Role) error {
	for _, r := range roles {
		if _, known := d.findRole(r); !known {
			return RoleNotFound(r)
		}
	}
	return nil
}

// Update changes a user. It fails with UserNotFound and RoleNotFound.
func (d *Directory) Update(database, name string, spec UserSpec) error {
	if _, ok := d.Find(database, name); !ok {
		return UserNotFound(database, name)
	}
	credentials, err := spec.makeCredentials(name)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.users[key{database, name}]
	if old == nil {
		return UserNotFound(database, name)
	}
	if err := d.checkRoles(spec.Roles); err != nil {
		return err
	}
	updated := *old
	updated.apply(spec, credentials)
	d.users[key{database, name}] = &updated
	d.clearGrants()
	return nil
}

// Drop removes a user. It returns false if the user does not exist.
func (d *Directory) Drop(database, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.users[key{database, name}]
	delete(d.users, key{database, name})
	d.clearGrants()
	return ok
}

// Current returns the current version of a user. It returns false if the user was dropped, even if a new
// user has the same name.
func (d *Directory) Current(u *User) (*User, bool) {
	current, ok := d.Find(u.Database, u.Name)
	if !ok || !current.SameAs(u) {
		return nil, false
	}
	return current, true
}

// Find returns a user.
func (d *Directory) Find(database, name string) (*User, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	u, ok := d.users[key{database, name}]
	return u, ok
}

// Users returns the users sorted by database and name.
func (d *Directory) Users() []*User {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.SortedFunc(maps.Values(d.users), func(a, b *User) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Name, b.Name))
	})
}

// UserNotFound returns the server's error for a user that does not exist.
func UserNotFound(database, name string) error {
	return mongoerr.New(mongoerr.UserNotFound, "Could not find user \"%s\" for db \"%s\"", name, database)
}
