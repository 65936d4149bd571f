package target

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"shardsh/balancer/mongoerr"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// readLoginRefusal reports whether the text of an error says that an authentication failed. The
// driver also returns such an error, without the server's error, for a connection pool that a failed
// authentication has closed.
func readLoginRefusal(err error, refused *driver.Error) bool {
	_, message, found := strings.Cut(err.Error(), "(AuthenticationFailed) ")
	if found {
		refused.Code, refused.Message = int32(mongoerr.AuthenticationFailed), message
	}
	return found
}

// connectError returns the error for a failure before any connection: a usage error, except for a
// failed name lookup.
func connectError(c *ConnectionString, err error) error {
	if errors.As(err, new(*net.DNSError)) {
		return unreachableError(c, err)
	}
	if wrongKeyPassword(c, err) {
		return cmdline.Usagef("--tlsCertificateKeyFile: the password of the key is wrong")
	}
	if mechanism, _ := c.get("authMechanism"); strings.EqualFold(mechanism, "GSSAPI") {
		return errKerberos
	}
	return cmdline.Usagef("%s: %s", c.Location(), secret.Redact(err.Error()))
}

// wrongKeyPassword reports whether the password of the certificate's key is wrong. The old PEM format
// detects this only by the padding: about one wrong password in 256 yields data that can't be parsed.
func wrongKeyPassword(c *ConnectionString, err error) bool {
	if _, hasKey := c.get("tlsCertificateKeyFile"); !hasKey {
		return false
	}
	_, hasPassword := c.get("tlsCertificateKeyFilePassword")
	return errors.Is(err, x509.IncorrectPasswordError) || strings.Contains(err.Error(), "pkcs8: incorrect password") ||
		hasPassword && strings.Contains(err.Error(), "failed to parse private key")
}

// unreachableError converts a driver's error to one line about the address, with the reason that the
// network or the server gave.
func unreachableError(c *ConnectionString, err error) error {
	reason := err
	if selection, ok := errors.AsType[topology.ServerSelectionError](err); ok {
		for _, server := range selection.Desc.Servers {
			if server.LastError != nil {
				reason = server.LastError
				break
			}
		}
	}
	if refused, ok := errors.AsType[driver.Error](reason); ok && refused.Code != 0 ||
		readLoginRefusal(reason, &refused) {
		source, ok := c.get("authSource")
		if !ok {
			source = "admin"
			if c.Database != "" {
				source = c.Database
			}
		}
		if refused.Code == int32(mongoerr.AuthenticationFailed) {
			return ConnectionError{refused.Code, fmt.Sprintf(
				"can't log in to %s: %s (looked for the user in the database %s; see --authenticationDatabase)",
				c.Location(), secret.Redact(refused.Message), source)}
		}
		return ConnectionError{refused.Code, fmt.Sprintf("can't use %s: %s", c.Location(), secret.Redact(refused.Message))}
	}
	for cause := reason; cause != nil; cause = errors.Unwrap(cause) {
		reason = cause
	}
	text, _, _ := strings.Cut(secret.Redact(reason.Error()), "\n")
	if errors.Is(reason, io.EOF) || errors.Is(reason, syscall.ECONNRESET) {
		text = "the server closed the connection at once; " + c.tlsHint()
	}
	return ConnectionError{0, fmt.Sprintf("can't reach %s: %s", c.Location(), text)}
}

// ConnectionError says why there is no connection.
type ConnectionError struct {
	Code    int32 // of the server, if it has rejected the connection
	Message string
}

func (e ConnectionError) Error() string { return e.Message }

// Name returns the name of the error in scripts.
func (e ConnectionError) Name() string {
	if e.Code != 0 {
		return "MongoServerError"
	}
	return "MongoServerSelectionError"
}

// tlsHint returns a hint for servers whose replies are not understood: most of them do not use TLS, or
// require it.
func (c *ConnectionString) tlsHint() string {
	if on, ok := c.get("tls"); ok && on == "true" {
		return "perhaps it does not use TLS (--tls)"
	}
	return "perhaps it wants TLS (--tls)"
}
