package access

import (
	"crypto/md5" //nolint:gosec // SCRAM-SHA-1 of MongoDB is made so
	"encoding/hex"
	"errors"

	"github.com/xdg-go/scram"

	"shardsh/balancer/mongoerr"
)

// Mechanism is the name of an authentication mechanism.
type Mechanism string

// The supported mechanisms.
const (
	SHA1   Mechanism = "SCRAM-SHA-1"
	SHA256 Mechanism = "SCRAM-SHA-256"
)

// scheme is the parameters of a mechanism's credentials. The iteration counts are the server's defaults
// of scramSHA1IterationCount and scramSHA256IterationCount. Salts are four bytes shorter than the hash.
type scheme struct {
	hash       scram.HashGeneratorFcn
	iterations int
	saltBytes  int
	hashBytes  int
}

var schemes = map[Mechanism]scheme{
	SHA1:   {scram.SHA1, 10000, 16, 20},
	SHA256: {scram.SHA256, 15000, 28, 32},
}

// IsSupported reports whether the mechanism is supported.
func (m Mechanism) IsSupported() bool {
	_, ok := schemes[m]
	return ok
}

// makeCredentials derives the stored credentials of a password for each mechanism, with the salt that
// saltOf returns.
func makeCredentials(name, password string, mechanisms []Mechanism, saltOf func(Mechanism) []byte,
) (map[Mechanism]scram.StoredCredentials, error) {
	if len(mechanisms) == 0 {
		mechanisms = []Mechanism{SHA1, SHA256}
	}
	made := map[Mechanism]scram.StoredCredentials{}
	for _, m := range mechanisms {
		s, known := schemes[m]
		if !known {
			return nil, mongoerr.New(mongoerr.BadValue, "Unknown auth mechanism '%s'", string(m))
		}
		client, err := s.client(m, name, password)
		if err != nil {
			return nil, errUnprepared(err)
		}
		c, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(saltOf(m)),
			Iters: s.iterations})
		if err != nil {
			return nil, mongoerr.New(mongoerr.BadValue, "cannot make %s credentials: %s", string(m), err)
		}
		made[m] = c
	}
	return made, nil
}

func randomSalt(m Mechanism) []byte { return randomBytes(schemes[m].saltBytes) }

// client derives the keys of a password. Only SCRAM-SHA-1 uses the name: it hashes name and password to
// a digest that takes the place of the password.
func (s scheme) client(m Mechanism, name, password string) (*scram.Client, error) {
	if m == SHA1 {
		digest := md5.Sum([]byte(name + ":mongo:" + password)) //nolint:gosec // the protocol's
		return s.hash.NewClientUnprepped("", hex.EncodeToString(digest[:]), "")
	}
	return s.hash.NewClient("", password, "")
}

// ErrAuthenticationFailed is the only error that a client receives for a failed authentication.
var ErrAuthenticationFailed error = mongoerr.New(mongoerr.AuthenticationFailed, "Authentication failed.")

// Conversation is one authentication in progress. It belongs to one connection.
type Conversation struct {
	inner     *scram.ServerConversation
	user      *User
	skipEmpty bool
	verified  bool
	done      bool
	// failureReason is only for the log; the client receives ErrAuthenticationFailed.
	failureReason error
}

// BeginConversation starts a conversation with a user of a database. skipEmpty omits the last, empty exchange
// (options.skipEmptyExchange of saslStart). It fails with MechanismUnavailable.
func (d *Directory) BeginConversation(m Mechanism, database string, skipEmpty bool) (*Conversation, error) {
	s, known := schemes[m]
	if !known {
		return nil, mongoerr.New(mongoerr.MechanismUnavailable,
			"Received authentication for mechanism %s which is not enabled", string(m))
	}
	c := &Conversation{skipEmpty: skipEmpty}
	server, err := s.hash.NewServer(func(name string) (scram.StoredCredentials, error) {
		user, exists := d.Find(database, name)
		credentials, usable := scram.StoredCredentials{}, false
		if exists {
			credentials, usable = user.credentials[m]
		}
		if !usable {
			c.failureReason = errors.New("no such user, or not with this mechanism: " + name + "@" + database)
			return d.decoyCredentials(m, database, name), nil
		}
		c.user = user
		return credentials, nil
	})
	if err != nil {
		return nil, mongoerr.New(mongoerr.InternalError, "%s", err)
	}
	c.inner = server.NewConversation()
	return c, nil
}

// Step processes the client's next message and returns the answer. done reports whether the user is
// authenticated. An error is always ErrAuthenticationFailed and ends the conversation.
func (c *Conversation) Step(payload []byte) (answer []byte, done bool, err error) {
	switch {
	case c.done:
		return nil, false, ErrAuthenticationFailed
	case c.verified && len(payload) == 0:
		c.done = true
		return []byte{}, true, nil
	case c.verified:
		c.done = true
		return nil, false, c.fail(errors.New("the last exchange is not empty"))
	}
	text, err := c.inner.Step(string(payload))
	if err != nil {
		c.done = true
		return nil, false, c.fail(err)
	}
	if !c.inner.Done() {
		return []byte(text), false, nil
	}
	if !c.inner.Valid() || c.user == nil {
		c.done = true
		return nil, false, c.fail(errors.New("wrong password"))
	}
	c.verified = true
	c.done = c.skipEmpty
	return []byte(text), c.done, nil
}

func (c *Conversation) fail(why error) error {
	if c.failureReason == nil {
		c.failureReason = why
	}
	return ErrAuthenticationFailed
}

// User returns the authenticated user, or nil before the conversation is done.
func (c *Conversation) User() *User {
	if !c.done || !c.verified {
		return nil
	}
	return c.user
}

// FailureReason returns, for the log, why the conversation failed.
func (c *Conversation) FailureReason() error { return c.failureReason }

// UserName returns, for the log, the name that the client sent.
func (c *Conversation) UserName() string { return c.inner.Username() }
