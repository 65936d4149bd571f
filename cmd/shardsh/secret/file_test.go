package secret

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Others may not read a secret; the group may if root has given it to it, as Kubernetes does.
func TestGuarded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes there")
	}
	for _, c := range []struct {
		mode   fs.FileMode
		byRoot bool
		fine   bool
	}{
		{0o600, false, true}, {0o400, true, true}, {0o440, false, false}, {0o640, false, false}, {0o440, true, true},
		{0o640, true, true}, {0o444, true, false}, {0o660, true, false}, {0o604, false, false}, {0o666 | fs.ModeNamedPipe, false, true},
	} {
		if err := checkPermissions("file", c.mode, c.byRoot); (err == nil) != c.fine {
			t.Errorf("%v, of root: %v: %v", c.mode, c.byRoot, err)
		}
	}
}

// A plain key in a file is not private because an encrypted one is beside it.
func TestKeyFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes there")
	}
	const certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	const plain = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"
	const encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"
	const older = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n"
	for text, want := range map[string]struct{ encrypted, refused bool }{
		certificate: {}, certificate + encrypted: {encrypted: true}, older: {encrypted: true},
		plain: {refused: true}, encrypted + plain: {refused: true}, plain + older: {refused: true},
	} {
		path := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o644); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		got, err := CheckKeyFile(path)
		if !want.refused && got != want.encrypted || (err != nil) != want.refused {
			t.Errorf("%s\n%v, %v", text, got, err)
		}
	}
}
