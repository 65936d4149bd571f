package sh_test

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/shelltest"
)

type connected = shelltest.TestShell

type step = shelltest.Step

func ok(fields ...bson.E) bson.D { return shelltest.OK(fields...) }

func field(key string, value any) bson.E { return shelltest.Field(key, value) }
