package access

import (
	"crypto/hmac"
	"crypto/sha256"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// What strangers hear of users that don't exist: it looks as if they did, and
// stays the same from one start to the next. The secret that it is made of is
// kept with the cluster.

// SecretName is the secret's name where it is kept with the users, whose names
// have a dot after the database.
const SecretName = "secret"

// NewSecret makes a secret at random.
func NewSecret() []byte { return randomBytes(sha256.Size) }

// StoredSecret returns the secret for keeping. It is as secret as the users.
func (d *Directory) StoredSecret() (bson.Raw, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return bson.Marshal(bson.D{{Key: SecretName, Value: d.secret}})
}

// RestoreSecret reads a stored secret; false for what is none.
func RestoreSecret(stored bson.Raw) ([]byte, bool) {
	_, secret, ok := stored.Lookup(SecretName).BinaryOK()
	return secret, ok && len(secret) == sha256.Size
}

// AddConfigured adds a user that is configured anew at each start. Its salts come from the
// directory's secret, so that they are as stable as those of other names. It
// fails as Create does, and may authenticate after UseSecret.
func (d *Directory) AddConfigured(database, name string, draft UserSpec) error {
	if err := checkPassword(name, draft.Password); err != nil {
		return err
	}
	u := &User{Name: name, Database: database, ID: newID(), Roles: draft.Roles, CustomData: draft.CustomData}
	u.derive = func(secret []byte) (map[Mechanism]scram.StoredCredentials, error) {
		return makeCredentials(name, draft.Password, draft.Mechanisms, func(m Mechanism) []byte {
			return saltFor(secret, m, database, name)
		})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.add(u)
}

// checkPassword refuses a password that can't be prepared.
func checkPassword(name, password string) error {
	for m, s := range schemes {
		if _, err := s.client(m, name, password); err != nil {
			return errUnprepared(err)
		}
	}
	return nil
}

// The library's text names no part of the password.
func errUnprepared(err error) error {
	return mongoerr.New(mongoerr.BadValue, "Error preflighting normalization: %s", err)
}

// UseSecret makes a secret the directory's, and the credentials of the users
// that were given with it.
func (d *Directory) UseSecret(secret []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.secret = secret
	for k, u := range d.users {
		if u.derive == nil {
			continue
		}
		made, err := u.derive(secret)
		if err != nil {
			return err
		}
		updated := *u
		updated.credentials, updated.derive = made, nil
		d.users[k] = &updated
	}
	return nil
}

// pseudonym returns bytes of a name that only the secret can tell from others.
func pseudonym(secret []byte, use string, database, name string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(use + "\x00" + database + "\x00" + name))
	return mac.Sum(nil)
}

// saltFor returns the salt of a name that no user has, or one that was given.
func saltFor(secret []byte, m Mechanism, database, name string) []byte {
	return pseudonym(secret, string(m), database, name)[:schemes[m].saltBytes]
}

// decoyCredentials makes credentials that no password has, with the same salt every
// time, so that a name that is unknown takes the same steps and the same time
// as a wrong password.
func (d *Directory) decoyCredentials(m Mechanism, database, name string) scram.StoredCredentials {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := schemes[m]
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(saltFor(d.secret, m, database, name)), Iters: s.iterations},
		StoredKey:  randomBytes(s.hashBytes), ServerKey: randomBytes(s.hashBytes),
	}
}

// AdvertisedMechanisms returns the mechanisms that an unauthenticated client is told for a name. For one
// that no user has they are those of some user: mostly both.
func (d *Directory) AdvertisedMechanisms(database, name string) []Mechanism {
	if u, there := d.Find(database, name); there {
		return u.Mechanisms()
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	switch pseudonym(d.secret, "mechanisms", database, name)[0] % 16 {
	case 0:
		return []Mechanism{SHA1}
	case 1:
		return []Mechanism{SHA256}
	}
	return []Mechanism{SHA1, SHA256}
}
