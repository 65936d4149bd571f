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

// commandTable returns every command of a mongos of release r by name and alias. Other commands fail
// with CommandNotFound.
func commandTable(r catalog.Release) map[string]*call.Command { return buildTable(mongosHandlers(), r) }

// mongosHandlers returns the implementations of a mongos's commands by command name.
func mongosHandlers() map[string]call.Handler {
	all := call.MergeMaps(
		reads.Handlers(), writes.Handlers(), explain.Handlers(), collections.Handlers(), sharding.Handlers(),
		servers.Handlers(), clients.Handlers(), clients.AccountHandlers(), controls.Handlers(),
	)
	for _, cmd := range commands.All() {
		if cmd.Refused != nil {
			all[cmd.Name] = refusingHandler(cmd)
		}
	}
	return all
}

// initialStages returns the pipeline stages that generate documents instead of changing them. Every node
// executes or rejects them.
func initialStages() map[string]call.InitialStage {
	return call.MergeMaps(collections.Stages(), servers.Stages(), clients.Stages(), sharding.Stages())
}

// refusingHandler returns a handler for a command that the mock does not support. It checks the fields
// first.
func refusingHandler(cmd commands.Command) call.Handler {
	return func(c *call.Call) (bson.D, error) {
		if cmd.TargetsCollection() {
			if _, err := c.Namespace(); err != nil {
				return nil, err
			}
		}
		return nil, cmd.Refused.Err(c.InvokedAs)
	}
}

// buildTable joins handlers with the descriptions of their commands in a release, by name and alias.
func buildTable(handlers map[string]call.Handler, r catalog.Release) map[string]*call.Command {
	table := map[string]*call.Command{}
	for _, cmd := range commands.All() {
		run := handlers[cmd.Name]
		if run == nil || !cmd.ExistsIn(r) {
			continue
		}
		cmd = cmd.ForRelease(r)
		for _, name := range cmd.Names() {
			table[name] = &call.Command{Command: &cmd, Run: run}
		}
	}
	return table
}
