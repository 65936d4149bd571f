package node_test

import (
	"shardsh/bindings/shelltest"
)

type step = shelltest.Step
