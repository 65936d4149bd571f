package mock_test

import (
	"shardsh/bindings/shelltest"
)

type step = shelltest.Step
