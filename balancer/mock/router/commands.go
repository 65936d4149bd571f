package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/clients"
	"shardsh/balancer/mock/router/collections"
	"shardsh/balancer/mock/router/controls"
	"shardsh/balancer/mock/router/explain"
	"shardsh/balancer/mock/router/reads"
	"shardsh/balancer/mock/router/servers"
	"shardsh/balancer/mock/router/sharding"
	"shardsh/balancer/mock/router/writes"
)

// commandTable has every command of a mongos of the release under its name and
// aliases. A command that is not here answers CommandNotFound.
func commandTable(r catalog.Release) map[string]*call.Command { return tableOf(mongosHandlers(), r) }

// mongosHandlers returns what a mongos does, by the commands' names.
func mongosHandlers() map[string]call.Handler {
	all := call.Join(
		reads.Handlers(), writes.Handlers(), explain.Handlers(), collections.Handlers(), sharding.Handlers(),
		servers.Handlers(), clients.Handlers(), clients.Accounts(), controls.Handlers(),
	)
	for _, cmd := range commands.All() {
		if cmd.Refused != nil {
			all[cmd.Name] = refused(cmd)
		}
	}
	return all
}

// initialStages returns the first stages of pipelines that make documents instead of
// changing them, which every node answers or refuses.
func initialStages() map[string]call.InitialStage {
	return call.Join(collections.Stages(), servers.Stages(), clients.Stages(), sharding.Stages())
}

// refused answers a command that the mock does not do, once it is well-formed.
func refused(cmd commands.Command) call.Handler {
	return func(c *call.Call) (bson.D, error) {
		if cmd.OnCollection() {
			if _, err := c.Namespace(); err != nil {
				return nil, err
			}
		}
		return nil, cmd.Refused.Err(c.Invoked)
	}
}

// tableOf joins handlers to what the table says of their commands in a release,
// by names and aliases.
func tableOf(handlers map[string]call.Handler, r catalog.Release) map[string]*call.Command {
	table := map[string]*call.Command{}
	for _, cmd := range commands.All() {
		run := handlers[cmd.Name]
		if run == nil || !cmd.In(r) {
			continue
		}
		cmd = cmd.At(r)
		for _, name := range cmd.Names() {
			table[name] = &call.Command{Command: &cmd, Run: run}
		}
	}
	return table
}
