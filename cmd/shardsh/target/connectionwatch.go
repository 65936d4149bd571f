package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"regexp"
	"sync"
	"syscall"

	"go.mongodb.org/mongo-driver/v2/event"
)

// connectionWatch ends the wait for a first connection as soon as it can't succeed
// (rules/04-command-line-and-prompt §1.11). The driver itself would retry until its timeout.
type connectionWatch struct {
	hosts []string
	fail  context.CancelCauseFunc

	mu      sync.Mutex
	ended   bool
	refused map[string]bool // by host, since its last reply
}

func (c *connectionWatch) monitor() *event.ServerMonitor {
	return &event.ServerMonitor{
		ServerHeartbeatFailed: func(e *event.ServerHeartbeatFailedEvent) {
			c.onFailure(e.ConnectionID, e.Failure)
		},
		ServerHeartbeatSucceeded: func(*event.ServerHeartbeatSucceededEvent) { c.stop() },
	}
}

// stop ends the watch: a server has answered, or the caller no longer waits.
func (c *connectionWatch) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}

// connectionNumber matches the suffix that the driver adds to a host.
var connectionNumber = regexp.MustCompile(`\[[-\d]+\]$`)

func (c *connectionWatch) onFailure(connection string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || !isPermanent(err) {
		return
	}
	if c.refused == nil {
		c.refused = make(map[string]bool)
	}
	c.refused[connectionNumber.ReplaceAllString(connection, "")] = true
	if len(c.refused) >= len(c.hosts) {
		c.ended = true
		c.fail(err)
	}
}

// isPermanent reports whether retrying can't succeed.
func isPermanent(err error) bool {
	for _, code := range []syscall.Errno{syscall.ECONNREFUSED, syscall.ENETUNREACH, syscall.EINVAL} {
		if errors.Is(err, code) {
			return true
		}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.IsNotFound
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" { // TLS alert of the other side
		return true
	}
	return errors.As(err, new(revokedCertificateError)) ||
		errors.As(err, new(*tls.CertificateVerificationError)) ||
		errors.As(err, new(tls.RecordHeaderError)) ||
		errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError)) ||
		errors.As(err, new(x509.CertificateInvalidError))
}
