// Package access holds the mock cluster's users and lets them prove who they
// are: SCRAM-SHA-256 and SCRAM-SHA-1, as MongoDB speaks them. Passwords are
// not kept, only what a server keeps of them.
package access

import (
	"cmp"
	"crypto/rand"
	"maps"
	"slices"
	"sync"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// Role is a role that a user has.
type Role struct {
	Role     string `bson:"role"`
	Database string `bson:"db"`
}

// User is one user. The exported fields may be read by anybody and are never
// changed; an update makes a new User.
type User struct {
	Name, Database string
	ID             bson.Binary
	Roles          []Role
	CustomData     bson.Raw
	credentials    map[Mechanism]scram.StoredCredentials
	// derive makes the credentials of a user that was given, once there is a
	// secret for the salts.
	derive func(secret []byte) (map[Mechanism]scram.StoredCredentials, error)
}

// SameAs reports whether two are the same user, perhaps at different times. One that
// was dropped and created again under its name is another. Two nils are the same.
func (u *User) SameAs(other *User) bool {
	if u == nil || other == nil {
		return u == other
	}
	return u.Name == other.Name && u.Database == other.Database && u.ID.Equal(other.ID)
}

// Mechanisms returns those the user can authenticate with, in the order servers
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

// Directory is the users of a cluster. It may be used from any goroutine.
type Directory struct {
	mu sync.RWMutex
	// secret seeds the answers to unauthenticated clients about users that don't exist.
	secret []byte
	users  map[key]*User
	roles  map[key]*RoleDefinition // those that were created
	// grants caches the privileges of users.
	grants map[key]*Grants
}

// NewDirectory makes a directory without users.
func NewDirectory() *Directory {
	return &Directory{
		secret: NewSecret(),
		users:  map[key]*User{},
		roles:  map[key]*RoleDefinition{},
		grants: map[key]*Grants{},
	}
}

// Clone returns a directory of the same users and roles.
func (d *Directory) Clone() *Directory {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return &Directory{
		secret: d.secret, users: maps.Clone(d.users), roles: maps.Clone(d.roles), grants: map[key]*Grants{},
	}
}

// ReplaceWith takes over the users and roles of another directory, which nobody else
// may have, in place of its own, all in one step. The secret stays.
func (d *Directory) ReplaceWith(other *Directory) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users, d.roles = other.users, other.roles
	d.clearGrants()
}

// randomBytes never fails: crypto/rand ends the process rather than give less.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// UserSpec is a user to be made or, with only some fields, what is to change.
type UserSpec struct {
	// Password in the clear; empty means no change.
	Password   string
	Mechanisms []Mechanism
	// Roles replace the user's; nil means no change.
	Roles      []Role
	CustomData bson.Raw
}

// Create adds a user. It fails with 51003 for one that exists, with BadValue
// for a password that can't be prepared, and with RoleNotFound.
func (d *Directory) Create(database, name string, draft UserSpec) error {
	u := &User{Name: name, Database: database, ID: newID()}
	if err := u.apply(draft); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.add(u)
}

// add puts a new user in. The caller holds the lock.
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

func newID() bson.Binary {
	id := randomBytes(16)
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id}
}

func (u *User) apply(draft UserSpec) error {
	if draft.Password != "" {
		credentials, err := makeCredentials(u.Name, draft.Password, draft.Mechanisms, randomSalt)
		if err != nil {
			return err
		}
		u.credentials = credentials
	}
	if draft.Roles != nil {
		u.Roles = draft.Roles
	}
	if draft.CustomData != nil {
		u.CustomData = draft.CustomData
	}
	return nil
}

// checkRoles fails with RoleNotFound. The caller holds the lock.
func (d *Directory) checkRoles(roles []Role) error {
	for _, r := range roles {
		if _, known := d.findRole(r); !known {
			return RoleNotFound(r)
		}
	}
	return nil
}

// Update changes a user. It fails with UserNotFound and RoleNotFound.
func (d *Directory) Update(database, name string, draft UserSpec) error {
	old, ok := d.Find(database, name)
	if !ok {
		return UserNotFound(database, name)
	}
	updated := *old
	if err := updated.apply(draft); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users[key{database, name}] == nil {
		return UserNotFound(database, name)
	}
	if err := d.checkRoles(draft.Roles); err != nil {
		return err
	}
	d.users[key{database, name}] = &updated
	d.clearGrants()
	return nil
}

// Drop removes a user. It is false when there is none.
func (d *Directory) Drop(database, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.users[key{database, name}]
	delete(d.users, key{database, name})
	d.clearGrants()
	return ok
}

// Current returns the current version of a user; false for one that was dropped, also
// where another has its name.
func (d *Directory) Current(u *User) (*User, bool) {
	current, there := d.Find(u.Database, u.Name)
	if !there || !current.SameAs(u) {
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

// All lists the users by database and name.
func (d *Directory) All() []*User {
	d.mu.RLock()
	defer d.mu.RUnlock()
	all := make([]*User, 0, len(d.users))
	for _, u := range d.users {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b *User) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// UserNotFound returns the server's error for a user that is not there.
func UserNotFound(database, name string) error {
	return mongoerr.New(mongoerr.UserNotFound, "Could not find user \"%s\" for db \"%s\"", name, database)
}
