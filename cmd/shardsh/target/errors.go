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

// isLoginRefusedText reports whether the text of an error alone says that a login was refused;
// so does the driver's, of a pool of connections that another login has closed.
func isLoginRefusedText(err error, refused *driver.Error) bool {
	_, message, found := strings.Cut(err.Error(), "(AuthenticationFailed) ")
	if found {
		refused.Code, refused.Message = int32(mongoerr.AuthenticationFailed), message
	}
	return found
}

// connectError returns an error from before anything was sent: a usage error,
// but for a name that could not be looked up.
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

// wrongKeyPassword reports whether the password of the certificate's key is wrong. The old
// form of PEM notices it only by its padding: one wrong password in 256 or so yields what
// can't be parsed.
func wrongKeyPassword(c *ConnectionString, err error) bool {
	if _, hasKey := c.get("tlsCertificateKeyFile"); !hasKey {
		return false
	}
	_, hasPassword := c.get("tlsCertificateKeyFilePassword")
	return errors.Is(err, x509.IncorrectPasswordError) || strings.Contains(err.Error(), "pkcs8: incorrect password") ||
		hasPassword && strings.Contains(err.Error(), "failed to parse private key")
}

// unreachableError makes a driver's error one line about the address, with the
// reason the network gave, or the server.
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
		isLoginRefusedText(reason, &refused) {
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
	Code    int32 // the server's, if it was one that refused
	Message string
}

func (e ConnectionError) Error() string { return e.Message }

// Name returns what scripts call such an error.
func (e ConnectionError) Name() string {
	if e.Code != 0 {
		return "MongoServerError"
	}
	return "MongoServerSelectionError"
}

// tlsHint is for servers that do not talk to us: most do not expect TLS, or
// expect it.
func (c *ConnectionString) tlsHint() string {
	if on, ok := c.get("tls"); ok && on == "true" {
		return "perhaps it does not use TLS (--tls)"
	}
	return "perhaps it wants TLS (--tls)"
}
