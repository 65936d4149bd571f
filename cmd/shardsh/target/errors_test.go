package target

import (
	"errors"
	"testing"
)

// The driver tells a second login, while the first is refused, in words alone.
func TestRefusedLoginInWords(t *testing.T) {
	err := errors.New("connection pool for h:1 was cleared because another operation failed with: connection() error " +
		"occurred during connection handshake: auth error: unable to authenticate using mechanism \"SCRAM-SHA-256\": " +
		"(AuthenticationFailed) Authentication failed.")
	c := &ConnectionString{Database: "shop"}
	got := unreachable(c, err)
	var failed ConnectionError
	if !errors.As(got, &failed) || failed.Code != authenticationFailed {
		t.Errorf("%v", got)
	}
	want := "can't log in to " + c.Place() + ": Authentication failed. (looked for the user in the database shop; " +
		"see --authenticationDatabase)"
	if got.Error() != want {
		t.Errorf("%q, want %q", got, want)
	}
}
