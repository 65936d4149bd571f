package settings_test

import (
	"shardsh/bindings/shelltest"
)

type connected = shelltest.TestShell

type step = shelltest.Step
