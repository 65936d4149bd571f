package settings_test

import (
	"shardsh/bindings/shelltest"
)

type connected = shelltest.Connected

type step = shelltest.Step
