package bindings

import (
	"testing"

	"shardsh/bindings/sandbox"
)

// A pager is a program like others: scripts in a sandbox, which could name one,
// have none started.
func TestSandboxHasNoPager(t *testing.T) {
	c := connect(t, func(cfg *Config) { cfg.Sandbox = &sandbox.Rules{} })
	run(t, c, step{"config.set('pager', 'sh evil.sh')", `Setting "pager" has been changed`})
	if program, wanted := c.Pager(); wanted || program != "" {
		t.Errorf("it has %q", program)
	}
}
