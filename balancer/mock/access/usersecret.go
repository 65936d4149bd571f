package access

import (
	"crypto/hmac"
	"crypto/sha256"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// An unauthenticated client cannot tell whether a user exists: the answers for unknown names look like
// the answers for users, and they are the same after a restart. They are derived from a secret that is
// stored with the cluster.

// SecretName is the storage name of the secret. It has no dot, so it cannot collide with a user, whose
// storage name has a dot after the database.
const SecretName = "secret"

// NewSecret returns a random secret.
func NewSecret() []byte { return randomBytes(sha256.Size) }

// StoredSecret returns the secret for storage. It must be protected as the users are.
func (d *Directory) StoredSecret() (bson.Raw, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return bson.Marshal(bson.D{{Key: SecretName, Value: d.secret}})
}

// ReadStoredSecret reads a stored secret. It returns false if stored is not a secret.
func ReadStoredSecret(stored bson.Raw) ([]byte, bool) {
	_, secret, ok := stored.Lookup(SecretName).BinaryOK()
	return secret, ok && len(secret) == sha256.Size
}

// AddConfigured adds a user that is configured anew at each start. The salts are derived from the
// directory's secret, so they are as stable as the salts of unknown names. It fails as Create does. The
// user can authenticate after UseSecret.
func (d *Directory) AddConfigured(database, name string, spec UserSpec) error {
	if err := checkPassword(name, spec.Password); err != nil {
		return err
	}
	u := &User{Name: name, Database: database, ID: newID(), Roles: spec.Roles, CustomData: spec.CustomData}
	u.derive = func(secret []byte) (map[Mechanism]scram.StoredCredentials, error) {
		return makeCredentials(name, spec.Password, spec.Mechanisms, func(m Mechanism) []byte {
			return saltFor(secret, m, database, name)
		})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.add(u)
}

// checkPassword fails if the password cannot be prepared.
func checkPassword(name, password string) error {
	for m, s := range schemes {
		if _, err := s.client(m, name, password); err != nil {
			return errUnprepared(err)
		}
	}
	return nil
}

// errUnprepared returns the server's error for a password that cannot be prepared. The library's message
// contains no part of the password.
func errUnprepared(err error) error {
	return mongoerr.New(mongoerr.BadValue, "Error preflighting normalization: %s", err)
}

// UseSecret sets the directory's secret and derives the credentials of the configured users from it.
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

// nameHMAC returns an HMAC of a name. Only the owner of the secret can tell it from random bytes.
func nameHMAC(secret []byte, use string, database, name string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(use + "\x00" + database + "\x00" + name))
	return mac.Sum(nil)
}

// saltFor returns the salt of an unknown name or of a configured user.
func saltFor(secret []byte, m Mechanism, database, name string) []byte {
	return nameHMAC(secret, string(m), database, name)[:schemes[m].saltBytes]
}

// decoyCredentials returns credentials that no password matches. The salt of a name is always the same.
// So an unknown name takes the same steps and the same time as a wrong password.
func (d *Directory) decoyCredentials(m Mechanism, database, name string) scram.StoredCredentials {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := schemes[m]
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(saltFor(d.secret, m, database, name)), Iters: s.iterations},
		StoredKey:  randomBytes(s.hashBytes), ServerKey: randomBytes(s.hashBytes),
	}
}

// AdvertisedMechanisms returns the mechanisms that the server advertises for a name to an
// unauthenticated client. For an unknown name it returns the mechanisms of some existing user, in most
// cases both.
func (d *Directory) AdvertisedMechanisms(database, name string) []Mechanism {
	if u, ok := d.Find(database, name); ok {
		return u.Mechanisms()
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	switch nameHMAC(d.secret, "mechanisms", database, name)[0] % 16 {
	case 0:
		return []Mechanism{SHA1}
	case 1:
		return []Mechanism{SHA256}
	}
	return []Mechanism{SHA1, SHA256}
}
