package action

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"time"
)

// ListenOptions says at which address, and for which users, pages are served over HTTP.
type ListenOptions struct {
	// Address is host:port, or only a port. Without a host, only this machine can connect.
	Address string
	// TLS is the configuration for https; nil means http.
	TLS *tls.Config
	// Users maps user names to passwords; if it is empty, no login is needed.
	Users map[string]string
}

// pageTimeout is the maximum time for a request.
const pageTimeout = 30 * time.Second

// Serve serves pages until stop is called; stop waits for the end. Serve returns the address at which
// it listens.
func (l ListenOptions) Serve(ctx context.Context, pages http.Handler) (at string, stop func(), err error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", l.address())
	if err != nil {
		return "", nil, err
	}
	at = listener.Addr().String()
	if l.TLS != nil {
		listener = tls.NewListener(listener, l.TLS)
	}
	server := &http.Server{Handler: l.requireLogin(pages), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: pageTimeout,
		IdleTimeout: 2 * time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with stop
	}()
	return at, func() {
		_ = server.Close() // no request changes anything
		<-done
	}, nil
}

// address returns the address, with this machine as the host if no host is given.
func (l ListenOptions) address() string {
	address := l.Address
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if host, port, err := net.SplitHostPort(address); err == nil && host == "" {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// IsLocal reports whether only this machine can connect.
func (l ListenOptions) IsLocal() bool {
	host, _, err := net.SplitHostPort(l.address())
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// requireLogin requires basic authentication if there are users.
func (l ListenOptions) requireLogin(pages http.Handler) http.Handler {
	if len(l.Users) == 0 {
		return pages
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		want, ok := l.Users[name]
		given, wanted := sha256.Sum256([]byte(password)), sha256.Sum256([]byte(want))
		if same := subtle.ConstantTimeCompare(given[:], wanted[:]) == 1; !same || !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="shardsh"`)
			http.Error(w, "authentication required", http.StatusUnauthorized)
			return
		}
		pages.ServeHTTP(w, r)
	})
}
