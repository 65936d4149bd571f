package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
)

// accountHandlers returns the commands on users and roles, which access
// answers.
func accountHandlers() map[string]handler {
	handlers := map[string]handler{}
	for name, run := range access.Commands() {
		handlers[name] = func(c *call) (bson.D, error) {
			accounts := &access.Accounts{Directory: c.node.users, Keep: c.cluster.KeepUser, Log: c.node.logger}
			return run(accounts, c.asked())
		}
	}
	return handlers
}
