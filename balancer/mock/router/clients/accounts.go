package clients

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/router/call"
)

// AccountHandlers returns the user and role management commands, which only a mongos has and package
// access implements.
func AccountHandlers() map[string]call.Handler {
	handlers := map[string]call.Handler{}
	for name, run := range access.Commands() {
		handlers[name] = func(c *call.Call) (bson.D, error) {
			accounts := &access.Accounts{Directory: c.Node.Users, Store: c.Cluster.Storage().StoreUser, Log: c.Node.Logger}
			return run(accounts, c.AccessRequest())
		}
	}
	return handlers
}
