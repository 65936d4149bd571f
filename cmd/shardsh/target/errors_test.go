package target

import (
	"errors"
	"testing"

	"shardsh/balancer/mongoerr"
)

// The driver tells a second login, while the first is refused, in words alone.
func TestRefusedLoginInWords(t *testing.T) {
	err := errors.New("connection pool for h:1 was cleared because another operation failed with: connection() error " +
		"occurred during connection handshake: auth error: unable to authenticate using mechanism \"SCRAM-SHA-256\": " +
		"(AuthenticationFailed) Authentication failed.")
	c := &ConnectionString{Database: "shop"}
	got := unreachableError(c, err)
	var failed ConnectionError
	if !errors.As(got, &failed) || failed.Code != int32(mongoerr.AuthenticationFailed) {
		t.Errorf("%v", got)
	}
	want := "can't log in to " + c.Location() + ": Authentication failed. (looked for the user in the database shop; " +
		"see --authenticationDatabase)"
	if got.Error() != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A wrong password that fits the padding of an old PEM block by chance is a wrong password.
func TestWrongKeyPassword(t *testing.T) {
	for _, tt := range []struct {
		address, err string
		wrong        bool
	}{
		{"mongodb://h/?tls=true&tlsCertificateKeyFile=k.pem&tlsCertificateKeyFilePassword=p",
			"tls: failed to parse private key", true},
		{"mongodb://h/?tls=true&tlsCertificateKeyFile=k.pem", "tls: failed to parse private key", false},
		{"mongodb://h/?tls=true&tlsCertificateKeyFile=k.pem", "pkcs8: incorrect password", true},
		{"mongodb://h/?tls=true", "tls: failed to parse private key", false},
	} {
		c, err := Parse(tt.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := wrongKeyPassword(c, errors.New(tt.err)); got != tt.wrong {
			t.Errorf("%s, %s: %t", tt.address, tt.err, got)
		}
	}
}
