package explain_test

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

func d(pairs ...any) bson.D { return routertest.D(pairs...) }
