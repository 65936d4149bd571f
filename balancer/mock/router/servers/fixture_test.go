package servers_test

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

type tester = routertest.Tester

func d(pairs ...any) bson.D { return routertest.D(pairs...) }
