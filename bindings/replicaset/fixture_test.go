package replicaset_test

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/shelltest"
)

func ok(fields ...bson.E) bson.D { return shelltest.OK(fields...) }

func field(key string, value any) bson.E { return shelltest.Field(key, value) }
