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

func (h *connectionWatch) monitor() *event.ServerMonitor {
	return &event.ServerMonitor{
		ServerHeartbeatFailed: func(e *event.ServerHeartbeatFailedEvent) {
			h.onFailure(e.ConnectionID, e.Failure)
		},
		ServerHeartbeatSucceeded: func(*event.ServerHeartbeatSucceededEvent) { h.stop() },
	}
}

// stop ends the watch: a server has answered, or the caller no longer waits.
func (h *connectionWatch) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
}

// connectionNumber matches the suffix that the driver adds to a host.
var connectionNumber = regexp.MustCompile(`\[[-\d]+\]$`)

func (h *connectionWatch) onFailure(connection string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || !isPermanent(err) {
		return
	}
	if h.refused == nil {
		h.refused = make(map[string]bool)
	}
	h.refused[connectionNumber.ReplaceAllString(connection, "")] = true
	if len(h.refused) >= len(h.hosts) {
		h.ended = true
		h.fail(err)
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
	return errors.As(err, new(certificateError)) ||
		errors.As(err, new(*tls.CertificateVerificationError)) ||
		errors.As(err, new(tls.RecordHeaderError)) ||
		errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError)) ||
		errors.As(err, new(x509.CertificateInvalidError))
}
