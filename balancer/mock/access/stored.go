package access

import (
	"fmt"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// storedUser is the storage format of a user. It holds credentials, not the password.
type storedUser struct {
	Name        string             `bson:"user"`
	Database    string             `bson:"db"`
	ID          bson.Binary        `bson:"userId"`
	Roles       []Role             `bson:"roles"`
	CustomData  bson.Raw           `bson:"customData,omitempty"`
	Credentials []storedCredential `bson:"credentials"`
}

type storedCredential struct {
	Mechanism  Mechanism `bson:"mechanism"`
	Salt       []byte    `bson:"salt"`
	Iterations int       `bson:"iterations"`
	StoredKey  []byte    `bson:"storedKey"`
	ServerKey  []byte    `bson:"serverKey"`
}

// Stored returns the user for storage. It is as sensitive as a server's system.users.
func (u *User) Stored() (bson.Raw, error) {
	s := storedUser{Name: u.Name, Database: u.Database, ID: u.ID, Roles: u.Roles, CustomData: u.CustomData}
	for _, m := range u.Mechanisms() {
		c := u.credentials[m]
		s.Credentials = append(s.Credentials, storedCredential{m, []byte(c.Salt), c.Iters, c.StoredKey, c.ServerKey})
	}
	return bson.Marshal(s)
}

// Restore adds a stored user. If replace is false, an existing user stays unchanged.
func (d *Directory) Restore(stored bson.Raw, replace bool) error {
	var s storedUser
	if err := bson.Unmarshal(stored, &s); err != nil {
		return fmt.Errorf("stored user: %w", err)
	}
	u := &User{
		Name: s.Name, Database: s.Database, ID: s.ID, Roles: s.Roles, CustomData: s.CustomData,
		credentials: map[Mechanism]scram.StoredCredentials{},
	}
	for _, c := range s.Credentials {
		u.credentials[c.Mechanism] = scram.StoredCredentials{
			KeyFactors: scram.KeyFactors{Salt: string(c.Salt), Iters: c.Iterations}, StoredKey: c.StoredKey,
			ServerKey: c.ServerKey,
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	k := key{u.Database, u.Name}
	if d.users[k] == nil || replace {
		d.users[k] = u
		d.clearGrants()
	}
	return nil
}
