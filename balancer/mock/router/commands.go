package router

import (
	"maps"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router/call"
)

// commandTable has every command of a mongos of the release under its name and
// aliases. A command that is not here answers CommandNotFound.
func commandTable(r catalog.Release) map[string]*call.Command { return tableOf(mongosHandlers(), r) }

// mongosHandlers returns what a mongos does, by the commands' names.
func mongosHandlers() map[string]call.Handler {
	all := map[string]call.Handler{}
	for _, family := range []map[string]call.Handler{
		handshakeHandlers(), authenticationHandlers(), accountHandlers(), sessionHandlers(),
		diagnosticHandlers(), nodeHandlers(), parameterHandlers(), operationHandlers(),
		readHandlers(), writeHandlers(), bulkWriteHandlers(), explainHandlers(),
		catalogHandlers(), collectionHandlers(), indexHandlers(), statisticsHandlers(),
		balancerHandlers(), moveHandlers(), chunkHandlers(), zoneHandlers(),
		shardingHandlers(), reshardingHandlers(), analyzerHandlers(),
		shardHandlers(), drainingHandlers(), clusterHandlers(), clusterParameterHandlers(),
		mockHandlers(), failPointHandlers(), snapshotHandlers(),
	} {
		maps.Copy(all, family)
	}
	for _, cmd := range commands.All() {
		if cmd.Refused != nil {
			all[cmd.Name] = refused(cmd)
		}
	}
	return all
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

// ok answers a command that has nothing to say and nothing to do.
func ok(*call.Call) (bson.D, error) { return bson.D{}, nil }
