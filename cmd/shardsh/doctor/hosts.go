package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	// hostTimeout is how long a host may take to accept a connection.
	hostTimeout = 3 * time.Second
	// certificateWarning is how long before its expiry a certificate causes a warning.
	certificateWarning = 21 * 24 * time.Hour
)

// Hosts checks that each host accepts connections, and its TLS certificate.
type Hosts struct {
	Names []string
	TLS   *tls.Config // nil without TLS
	Now   func() time.Time
}

// Check returns a line for each host, in order.
func (h Hosts) Check(ctx context.Context) []Line {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	found := make([]section, len(h.Names))
	var all sync.WaitGroup
	for i, name := range h.Names {
		all.Go(func() {
			found[i] = section{name: "Hosts"}
			h.checkHost(ctx, &found[i], name)
		})
	}
	all.Wait()
	var lines []Line
	reached := false
	for _, s := range found {
		lines = append(lines, s.lines...)
		reached = reached || s.lines[0].Grade != Fail
	}
	for i := range lines {
		if reached && lines[i].Grade == Fail {
			lines[i].Grade = Warn // other hosts are sufficient
		}
	}
	return lines
}

func (h Hosts) checkHost(ctx context.Context, s *section, name string) {
	network := "tcp"
	if strings.HasPrefix(name, "/") {
		network = "unix"
	}
	began := h.Now()
	conn, err := new(net.Dialer).DialContext(ctx, network, name)
	if err != nil {
		s.add(Fail, name, connectionRemedy(err), "no connection: %s", rootReason(err))
		return
	}
	defer func() { _ = conn.Close() }()
	took := h.Now().Sub(began).Round(10 * time.Microsecond)
	if h.TLS == nil {
		s.addOK(name, "answers in %s, without TLS", took)
		return
	}
	h.checkTLS(ctx, s, name, conn)
}

// checkTLS performs the TLS handshake and checks the certificate.
func (h Hosts) checkTLS(ctx context.Context, s *section, name string, conn net.Conn) {
	config := h.TLS.Clone()
	if host, _, err := net.SplitHostPort(name); err == nil && config.ServerName == "" {
		config.ServerName = host
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		s.add(Fail, name, tlsRemedy(err), "TLS failed: %s", rootReason(err))
		return
	}
	state := secured.ConnectionState()
	if len(state.PeerCertificates) == 0 {
		s.addOK(name, "%s", tls.VersionName(state.Version))
		return
	}
	end := state.PeerCertificates[0].NotAfter
	if left := end.Sub(h.Now()); left < certificateWarning {
		s.add(Warn, name, "renew the server's certificate", "%s, but its certificate expires on %s",
			tls.VersionName(state.Version), end.Format(time.DateOnly))
		return
	}
	s.addOK(name, "%s, certificate valid until %s", tls.VersionName(state.Version), end.Format(time.DateOnly))
}

// connectionRemedy returns the remedy for a host that can't be reached.
func connectionRemedy(err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return "check the name, and whether DNS on this machine resolves it"
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "check firewalls and VPN, and that the machine is up"
	}
	return "check that mongos runs there, on this port, and listens on this address (net.bindIp)"
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// tlsRemedy returns the remedy for a failed handshake.
func tlsRemedy(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var notTLS tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown):
		return "name the certificate of its CA with --tlsCAFile"
	case errors.As(err, &host):
		return "connect with a host name that is in the certificate"
	case errors.As(err, &invalid):
		return "renew the server's certificate, or check this machine's clock"
	case errors.As(err, &notTLS), errors.Is(err, io.EOF), isReset(err):
		return "the server may not use TLS: omit --tls and tls=true, or pass --no-tls"
	case errors.As(err, &alert):
		return "the server may require a client certificate (--tlsCertificateKeyFile)"
	}
	return "compare --tlsDisabledProtocols with the server's TLS settings"
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && strings.Contains(op.Err.Error(), "reset")
}

// rootReason returns the reason of an error, without the network operation and its addresses, in one line.
func rootReason(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
