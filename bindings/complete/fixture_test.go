package complete_test

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/shelltest"
)

type step = shelltest.Step

func field(key string, value any) bson.E { return shelltest.Field(key, value) }
