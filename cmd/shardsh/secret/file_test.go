package secret

import (
	"io/fs"
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
