package bindings_test

import (
	"testing"

	"shardsh/bindings"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/shelltest"
)

// A pager is a program like others: scripts in a sandbox, which could name one,
// have none started.
func TestSandboxHasNoPager(t *testing.T) {
	c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Sandbox = &sandbox.Rules{} })
	shelltest.Run(t, c, step{"config.set('pager', 'sh evil.sh')", `Setting "pager" has been changed`})
	if program, wanted := c.Pager(); wanted || program != "" {
		t.Errorf("it has %q", program)
	}
}
