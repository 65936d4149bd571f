package wire_test

import (
	"crypto/tls"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"shardsh/balancer/mock/wire"
)

// A peer that connects and does not begin its TLS handshake, or does it by the
// byte, is let go in the time that a message may take.
func TestSlowHandshakesAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := wire.NewPipe()
		s := &wire.Server{Handler: new(toy), Limits: wire.Limits{Transfer: time.Minute}}
		served := make(chan error, 1)
		go func() {
			served <- s.Serve(t.Context(), tls.NewListener(pipe, &tls.Config{MinVersion: tls.VersionTLS12}))
		}()
		for _, begin := range [][]byte{nil, {22, 3, 1}} {
			start := time.Now()
			p := dial(t, pipe)
			p.send(begin)
			p.expectClosed()
			if took := time.Since(start); took != time.Minute {
				t.Errorf("closed after %v", took)
			}
		}
		if err := errors.Join(s.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
}
